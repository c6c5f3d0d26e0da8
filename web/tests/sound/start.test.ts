import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { AdaptiveStart, Arrivals, CAREFUL_RISK, RISK } from "../../src/core/sound/start.ts";

interface Utterance {
  readonly arrivals: readonly [number, number][];
  readonly depths: readonly number[];
  readonly required_delay: number;
  readonly rate: number | null;
  readonly depth: number;
}

interface Vectors {
  readonly sample_rate: number;
  readonly cases: readonly {
    readonly lead: boolean;
    readonly round_trip: number;
    readonly risk: number;
    readonly before: number;
    readonly utterances: readonly Utterance[];
  }[];
  readonly guarded: readonly { rate: number; remaining: number; depth: number }[];
}

const VECTORS: Vectors = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/start.json", import.meta.url), "utf-8"),
);

/** Decimals to which logarithms of two implementations agree. */
const DIGITS = 12;

describe("as in Python", () => {
  test.each(VECTORS.cases)("lead $lead, round trip $round_trip, risk $risk", (one) => {
    const { lead, round_trip: roundTrip, risk } = one;
    const start = new AdaptiveStart({ lead, roundTrip, risk });
    expect(start.depth()).toBeCloseTo(one.before, DIGITS);
    for (const utterance of one.utterances) {
      const arrivals = new Arrivals(VECTORS.sample_rate);
      utterance.arrivals.forEach(([sample, now], index) => {
        arrivals.add(sample, now);
        expect(start.depth(arrivals.rate)).toBeCloseTo(utterance.depths[index] ?? -1, DIGITS);
      });
      start.learn(arrivals.requiredDelay);
      expect(arrivals.requiredDelay).toBe(utterance.required_delay);
      expect(arrivals.rate).toBe(utterance.rate ?? Number.POSITIVE_INFINITY);
      expect(start.depth()).toBeCloseTo(utterance.depth, DIGITS);
    }
  });

  test.each(VECTORS.guarded)("rate $rate, $remaining s remaining", ({ rate, remaining, depth }) => {
    expect(new AdaptiveStart().depth(rate, remaining)).toBeCloseTo(depth, DIGITS);
  });
});

it("measures each utterance by itself", () => {
  const arrivals = new Arrivals(16_000);
  arrivals.add(0, 5);
  arrivals.add(320, 6);
  expect(arrivals.requiredDelay).toBeCloseTo(0.98);
  arrivals.finish();
  arrivals.add(9_000, 60);
  expect(arrivals.requiredDelay).toBe(0);
  expect(arrivals.rate).toBe(Number.POSITIVE_INFINITY);
});

it("starts later for a listener who minds gaps more", () => {
  const [usual, careful] = [RISK, CAREFUL_RISK].map((risk) => {
    const start = new AdaptiveStart({ lead: true, risk });
    start.learn(0.3);
    return start.depth();
  });
  expect(careful).toBeGreaterThan(usual ?? 0);
});

it.each([0, 1, Number.NaN])("refuses a risk of %d", (risk) => {
  expect(() => new AdaptiveStart({ risk })).toThrow(RangeError);
});

it.each([-1, Number.POSITIVE_INFINITY])("refuses a round trip of %d", (roundTrip) => {
  expect(() => new AdaptiveStart({ roundTrip })).toThrow(RangeError);
});
