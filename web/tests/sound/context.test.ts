import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { heardAt, monotonic, soundState } from "../../src/core/sound/context.ts";

const QUIET = { baseLatency: 0.01, currentTime: 5, outputLatency: 0 };

function contextWith(timestamp: AudioTimestamp, rest: object = {}): AudioContext {
  const getOutputTimestamp = () => timestamp;
  return { ...QUIET, ...rest, getOutputTimestamp } as unknown as AudioContext;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("maps the context's clock to the page's where the browser does", () => {
  vi.advanceTimersByTime(3_000);
  const context = contextWith({ contextTime: 4.9, performanceTime: 2_990 });
  expect(heardAt(context, 4.75)).toBeCloseTo(2.84);
  const later = contextWith({ contextTime: 4.7, performanceTime: 2_990 });
  expect(heardAt(later, 4.75)).toBeCloseTo(3.04);
});

it("does not have a sound heard before it was rendered", () => {
  vi.advanceTimersByTime(3_000);
  const context = contextWith({ contextTime: 4.9, performanceTime: 2_700 });
  expect(heardAt(context, 5)).toBeCloseTo(3.01);
});

it.each([
  [{ contextTime: 0, performanceTime: 0 }, {}, 0.01],
  [{}, {}, 0.01],
  [{}, { outputLatency: 0.2 }, 0.2],
])("adds the latency where the device tells no time", (timestamp, rest, latency) => {
  expect(heardAt(contextWith(timestamp, rest), 5.5)).toBeCloseTo(monotonic() + 0.5 + latency);
});

it("is closed before there is a context", () => {
  expect(soundState(null)).toBe("closed");
});
