import { expect, test } from "vitest";
import { LegatoError } from "../../src/core/failure.ts";
import { Backoff, PROFILES } from "../../src/core/flow/backoff.ts";
import { Credit } from "../../src/core/flow/credit.ts";
import { Chain } from "../../src/core/flow/digest.ts";
import { TokenBucket } from "../../src/core/flow/pacing.ts";
import { Replay } from "../../src/core/flow/replay.ts";
import { bytes, vectors } from "./vectors.ts";

const FLOW = vectors<{
  backoff: [keyof typeof PROFILES, [number, number, number | null, number][]][];
  pacing: [string, number, number, number | boolean | null][];
  digest: [string, string][];
}>("flow.json");

test.each(FLOW.backoff)("delays of %s are those of Python", (name, steps) => {
  let drawn = 0;
  const backoff = new Backoff(PROFILES[name], () => drawn);
  for (const [now, share, asked, delay] of steps) {
    drawn = share;
    expect(backoff.nextDelay(now, asked ?? undefined)).toBeCloseTo(delay, 12);
  }
  expect(backoff.attempts).toBe(steps.length);
});

test("a profile with so many tries ends, and begins anew after a success", () => {
  const backoff = new Backoff(PROFILES.articles, () => 0);
  for (let attempt = 0; attempt < 10; attempt++) {
    backoff.nextDelay(attempt);
  }
  expect(backoff.isExhausted).toBe(true);
  expect(() => backoff.nextDelay(11)).toThrow("gave up after 10 attempts");
  backoff.reset();
  expect(backoff.nextDelay(12)).toBe(1);
});

test("a bucket lets pass what Python's lets pass", () => {
  const [, , first = 0, burst] = FLOW.pacing[0] ?? [];
  const bucket = new TokenBucket(first, Number(burst));
  const said = FLOW.pacing.slice(1).map(([call, now, number]) => {
    switch (call) {
      case "set_rate":
        bucket.setRate(number, now);
        return null;
      case "ready_at": {
        const ready = bucket.readyAt(number, now);
        return Number.isFinite(ready) ? ready : null;
      }
      default:
        return bucket.take(number, now);
    }
  });
  expect(said).toEqual(FLOW.pacing.slice(1).map(([, , , answer]) => answer));
});

test("a chain of payloads has Python's digests", () => {
  const chain = new Chain();
  for (const [payload, digest] of FLOW.digest) {
    chain.update(bytes(payload));
    expect(chain.hex()).toBe(digest);
  }
});

test("credit only grows, and the first limit counts however low it is", () => {
  const credit = new Credit();
  expect(credit.allows(1e12)).toBe(true);
  credit.grant(0);
  expect([credit.allows(0), credit.allows(1)]).toEqual([true, false]);
  credit.grant(10);
  credit.grant(5);
  credit.grant(undefined);
  expect([credit.allows(10), credit.allows(11)]).toEqual([true, false]);
});

test("what the peer has not received is never forgotten", () => {
  const replay = new Replay<string>(10);
  for (let number = 0; number < 5; number++) {
    replay.keep(number, `${number}`, 6);
  }
  expect(replay.since(0)).toHaveLength(5);
  replay.receive(2);
  expect(replay.since(3)).toEqual(["3", "4"]);
  expect(replay.complete).toBe(false);
});

test("who asks for what is forgotten is told what is missing", () => {
  const replay = new Replay<string>(100);
  for (let number = 0; number < 4; number++) {
    replay.keep(number, `${number}`, 1);
  }
  replay.release(1);
  expect([replay.length, replay.total]).toEqual([2, 2]);
  let told: unknown;
  try {
    replay.since(0);
  } catch (error) {
    told = error;
  }
  expect(told).toBeInstanceOf(LegatoError);
  expect(told).toMatchObject({ code: "resume_gap", facts: { missing: [0, 2] } });
});
