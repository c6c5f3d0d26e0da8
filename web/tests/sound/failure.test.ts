import { describe, expect, it } from "vitest";
import { LegatoError } from "../../src/core/failure.ts";
import { captureError, FIXES, obstacle, SoundError } from "../../src/core/sound/failure.ts";

function thrown(name: string): Error {
  return Object.assign(new Error("as the browser says"), { name });
}

describe("what a browser throws", () => {
  it.each([
    ["NotAllowedError", "permission_denied"],
    ["SecurityError", "permission_denied"],
    ["NotFoundError", "no_device"],
    ["OverconstrainedError", "no_device"],
    ["NotReadableError", "device_busy"],
    ["AbortError", "device_busy"],
    ["NotSupportedError", "unsupported"],
    ["TypeError", "unsupported"],
    ["SomethingNewError", "unsupported"],
  ] as const)("%s is %s", (name, code) => {
    const cause = thrown(name);
    const error = captureError(cause);
    expect(error).toBeInstanceOf(LegatoError);
    expect(error).toMatchObject({ code, cause, retryable: false });
    expect(error.message).toBe("as the browser says");
  });

  it("has a way out for each", () => {
    for (const fix of Object.values(FIXES)) expect(fix).toMatch(/^[A-Z].*\.$/s);
    expect(FIXES.insecure_origin).toContain("8440:127.0.0.1:8440"); // the server's own port
  });

  it("may be one of ours already", () => {
    const error = new SoundError("sound_suspended", "The sound is suspended.");
    expect(captureError(error)).toBe(error);
  });

  it("may be no error at all", () => {
    expect(captureError("refused")).toMatchObject({ code: "unsupported", message: "refused" });
  });
});

describe("what stands in the way", () => {
  const here = { isSecureContext: true, hasWorklets: true, hasMicrophones: true };

  it("is nothing in a current browser", () => {
    expect(obstacle(here, true)).toBeNull();
    expect(obstacle({ ...here, hasMicrophones: false }, false)).toBeNull();
  });

  it("is the origin, before the browser is blamed", () => {
    const insecure = { isSecureContext: false, hasWorklets: false, hasMicrophones: false };
    expect(obstacle(insecure, true)?.code).toBe("insecure_origin");
    expect(obstacle(insecure, false)?.code).toBe("insecure_origin");
  });

  it.each([
    [{ ...here, hasWorklets: false }, "AudioWorklet"],
    [{ ...here, hasMicrophones: false }, "microphones"],
  ])("is an old browser", (old, missing) => {
    const error = obstacle(old, true);
    expect(error?.code).toBe("unsupported");
    expect(error?.message).toContain(missing);
  });
});
