/** What this client refuses before it asks a server. */

import { describe, expect, test } from "vitest";
import { checkStart } from "../../src/core/session/offer.ts";

const START = { type: "stream_start", stream_id: "s", stream: 1, task: "synthesize" } as const;

describe("a stream's codec", () => {
  test.each(["opus", "mulaw", "alaw", "mp3"])("is not %s, which is said so", (codec) => {
    expect(() => checkStart({ ...START, codec })).toThrow(`this client speaks pcm_s16le`);
  });

  test("is PCM, said or not", () => {
    expect(checkStart({ ...START, codec: "pcm_s16le" }).codec).toBe("pcm_s16le");
    expect(checkStart(START).codec).toBeUndefined();
  });
});
