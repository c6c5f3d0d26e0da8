import fc from "fast-check";
import { expect, it } from "vitest";
import { Peaks } from "../../src/core/sound/peaks.ts";

const PCM = fc.int16Array({ minLength: 1, maxLength: 2_000 });

it("does not depend on how the samples came", () => {
  fc.assert(
    fc.property(
      PCM,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 99 }),
      (pcm, bin, step) => {
        const [whole, pieces] = [new Peaks(bin), new Peaks(bin)];
        whole.add(pcm);
        for (let at = 0; at < pcm.length; at += step) pieces.add(pcm.subarray(at, at + step));
        expect(pieces.bins).toEqual(whole.bins);
        expect(whole.bins.lows).toHaveLength(Math.ceil(pcm.length / bin));
      },
    ),
  );
});

it("shows the least and greatest sample, in however many columns", () => {
  fc.assert(
    fc.property(PCM, fc.integer({ min: 1, max: 700 }), (pcm, columns) => {
      const peaks = new Peaks(7);
      peaks.add(pcm);
      const drawn = peaks.columns(columns);
      expect(drawn).toHaveLength(2 * columns);
      expect(Math.min(...drawn)).toBe(Math.fround(Math.min(...pcm) / 32_768));
      expect(Math.max(...drawn)).toBe(Math.fround(Math.max(...pcm) / 32_768));
    }),
  );
});

it("stays small however long it gets", () => {
  const peaks = new Peaks(1);
  const pcm = Int16Array.from({ length: 10_001 }, (_, at) => (at === 5_000 ? -32_768 : at % 100));
  peaks.add(pcm);
  expect(peaks.samples).toBe(10_001);
  expect(peaks.binSamples).toBe(4);
  expect(peaks.bins.lows).toHaveLength(Math.ceil(10_001 / 4));
  expect(peaks.bins.lows[1_250]).toBe(-1);
});

it("draws nothing where there is nothing", () => {
  expect(new Peaks().columns(3)).toEqual(new Float32Array(6));
});
