import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Traffic } from "../../src/core/api.ts";
import type { Message } from "../../src/core/messages.ts";

vi.stubGlobal("document", { baseURI: "http://host/speech/" });
const { breakIt, disconnected, observe, profile, refusal, standing, underWay } = await import(
  "../../src/console/breaks.ts"
);

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly body: unknown;
}

let asked: Asked[];
let answers: Response[];

beforeEach(() => {
  asked = [];
  answers = [];
  vi.stubGlobal("fetch", async (url: URL, { method = "GET", body }: RequestInit) => {
    asked.push({ url: url.href, method, body: body && JSON.parse(String(body)) });
    return answers.shift() ?? new Response("", { status: 500 });
  });
});

afterEach(() => disconnected());

function told(impairment: object): Response {
  return Response.json({ impairment });
}

function refused(code: string, status: number): Response {
  return Response.json({ error: { code, message: "as the server says" } }, { status });
}

async function welcome(answer: Response): Promise<void> {
  answers.push(answer);
  const message = { type: "welcome", session_id: "s 1", resume_token: "t" } as unknown as Message;
  const traffic: Traffic = { now: 0, direction: "down", connection: 1, sizeBytes: 1, message };
  observe(traffic);
  await vi.waitFor(() => expect(answers).toEqual([]));
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

test("whether a page may break its connection is asked, and nothing is ordered for it", async () => {
  await welcome(told({ allowed: true }));
  expect(asked).toEqual([
    { url: "http://host/speech/v1/sessions/s%201/impairment", method: "GET", body: undefined },
  ]);
  expect(standing.value).toBe("ready");
});

test("another server may forbid it", async () => {
  await welcome(told({ allowed: true }));
  await welcome(told({ allowed: false, reason: "off" }));
  expect(standing.value).toBe("disabled");
  await welcome(new Response("<html>", { status: 404 }));
  expect(standing.value).toBe("disabled");
  await welcome(told({ allowed: true }));
  expect(standing.value).toBe("ready");
});

test("a network holds until the next connection", async () => {
  await welcome(told({ allowed: true }));
  answers.push(told({ action: "network", profile: "lossy" }));
  await breakIt({ action: "network", profile: "lossy" });
  expect(asked.at(-1)).toMatchObject({
    method: "POST",
    body: { token: "t", action: "network", profile: "lossy" },
  });
  expect(profile.value).toBe("lossy");
  await welcome(told({ allowed: true }));
  expect(profile.value).toBe("none");
});

test("another process is tried, and what is refused is told until it works", async () => {
  await welcome(told({ allowed: true }));
  answers.push(refused("unknown_session", 404), refused("malformed_message", 400));
  await breakIt({ action: "cut" });
  expect(asked).toHaveLength(3);
  expect(refusal.value?.message).toBe("as the server says");
  answers.push(told({ action: "cut", profile: "none" }));
  await breakIt({ action: "cut" });
  expect(refusal.value).toBeUndefined();
});

test("without a connection there is nothing to break", async () => {
  await welcome(told({ allowed: true }));
  disconnected();
  expect(standing.value).toBe("unknown");
  await breakIt({ action: "cut" });
  expect(asked).toHaveLength(1);
});

test("a cut is under way until there is a connection again", async () => {
  await welcome(told({ allowed: true }));
  answers.push(told({ action: "cut", profile: "none" }));
  await breakIt({ action: "cut" });
  disconnected();
  expect(underWay.value).toBe("cut");
  await welcome(told({ allowed: true }));
  expect(underWay.value).toBeUndefined();
});

test("a freeze is over after its time, and what was refused never began", async () => {
  await welcome(told({ allowed: true }));
  vi.useFakeTimers();
  answers.push(refused("malformed_message", 400));
  await breakIt({ action: "freeze", seconds: 3 });
  expect(underWay.value).toBeUndefined();
  answers.push(told({ action: "freeze", profile: "none" }));
  await breakIt({ action: "freeze", seconds: 3 });
  vi.advanceTimersByTime(2_999);
  expect(underWay.value).toBe("freeze");
  vi.advanceTimersByTime(1);
  expect(underWay.value).toBeUndefined();
  vi.useRealTimers();
});

test("a second freeze counts from its own beginning", async () => {
  await welcome(told({ allowed: true }));
  vi.useFakeTimers();
  for (const waited of [2_000, 2_000]) {
    answers.push(told({ action: "freeze", profile: "none" }));
    await breakIt({ action: "freeze", seconds: 3 });
    vi.advanceTimersByTime(waited);
  }
  expect(underWay.value).toBe("freeze");
  vi.advanceTimersByTime(1_000);
  expect(underWay.value).toBeUndefined();
  vi.useRealTimers();
});
