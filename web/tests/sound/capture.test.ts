import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CapturedFrame, Framer, quantised } from "../../src/core/sound/capture.ts";

const QUANTUM = 128;

function quantum(value: number): Float32Array {
  return new Float32Array(QUANTUM).fill(value / 32_768);
}

function joined(frames: readonly CapturedFrame[]): number[] {
  return frames.flatMap(({ pcm }) => [...pcm]);
}

it.each([
  [0, 0],
  [1, 32_767],
  [-1, -32_768],
  [2, 32_767],
  [-2, -32_768],
  [0.5, 16_384],
])("%d becomes %d", (value, expected) => {
  expect(quantised(value)).toBe(expected);
});

it("gives every 16 bit value back as it was", () => {
  for (let value = -32_768; value < 32_768; value += 1) {
    expect(quantised(Math.fround(value / 32_768))).toBe(value);
  }
});

describe("frames", () => {
  it("have equal lengths and positions in a row, whatever their length", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 0, max: 30 }),
        (n, count) => {
          const framer = new Framer(n);
          const frames: CapturedFrame[] = [];
          for (let at = 0; at < count; at += 1) {
            frames.push(...framer.add(quantum(at), at * QUANTUM, QUANTUM));
          }
          expect(frames.every(({ pcm }) => pcm.length === n)).toBe(true);
          const rest = framer.rest();
          const all = rest ? [...frames, rest] : frames;
          expect(all.map(({ sample }) => sample)).toEqual(all.map((_, index) => index * n));
          const told = Array.from({ length: count }, (_, at) => new Array(QUANTUM).fill(at)).flat();
          expect(joined(all)).toEqual(told);
          expect(framer).toMatchObject({ gaps: 0, samples: count * QUANTUM });
        },
      ),
    );
  });

  it("carry their own level", () => {
    const framer = new Framer(QUANTUM);
    const [loud] = framer.add(quantum(16_384), 0, QUANTUM);
    const [quiet] = framer.add(quantum(0), QUANTUM, QUANTUM);
    expect(loud?.level).toEqual({ rms: 0.5, peak: 0.5 });
    expect(quiet?.level).toEqual({ rms: 0, peak: 0 });
  });

  it.each([0, -1, Number.NaN])("of %d samples are refused", (samples) => {
    expect(() => new Framer(samples)).toThrow(RangeError);
  });
});

describe("a gap", () => {
  function begun(): Framer {
    const framer = new Framer(QUANTUM);
    framer.add(quantum(1), 0, QUANTUM);
    framer.add(quantum(1), QUANTUM, QUANTUM);
    return framer;
  }

  it("is silence of the same length, so that later positions stay true", () => {
    const frames = begun().add(quantum(5), 5 * QUANTUM, QUANTUM);
    expect(frames.map(({ sample }) => sample / QUANTUM)).toEqual([2, 3, 4, 5]);
    expect(joined(frames).filter(Boolean)).toEqual(new Array(QUANTUM).fill(5));
    expect(frames.at(-1)?.gaps).toBe(3);
  });

  it("is a quantum in which the device gave nothing", () => {
    const framer = begun();
    expect(joined(framer.add(undefined, 2 * QUANTUM, QUANTUM))).toEqual(new Array(QUANTUM).fill(0));
    expect(framer.gaps).toBe(1);
  });

  it("is none before the device has begun", () => {
    const framer = new Framer(QUANTUM);
    expect(framer.add(undefined, 0, QUANTUM)).toEqual([]);
    expect(framer.add(quantum(0), 9 * QUANTUM, QUANTUM)).toHaveLength(1);
    expect(framer.add(quantum(1), 99 * QUANTUM, QUANTUM)).toHaveLength(1);
    expect(framer).toMatchObject({ gaps: 0, samples: 2 * QUANTUM });
  });
});
