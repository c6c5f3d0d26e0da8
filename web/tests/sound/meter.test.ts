import { expect, it } from "vitest";
import { Meter, metered, SILENCE } from "../../src/core/sound/meter.ts";

it("measures all since the last look", () => {
  const meter = new Meter();
  meter.add(Float32Array.of(0.5, -0.5));
  meter.add(Float32Array.of(0, -0.75, 0, 0));
  const { rms, peak } = meter.take();
  expect(rms).toBeCloseTo(Math.sqrt((0.25 + 0.25 + 0.5625) / 6));
  expect(peak).toBe(0.75);
  expect(meter.take()).toBe(SILENCE);
});

it("shows a peak until it has fallen by 20 dB in a second, and the loudness as it is", () => {
  const loud = { rms: 0.4, peak: 0.9 };
  const quiet = { rms: 0.01, peak: 0.02 };
  const soon = metered(loud, quiet, 0.02);
  expect(soon.rms).toBe(0.01);
  expect(soon.peak).toBeCloseTo(0.9 * 10 ** -0.02);
  expect(metered(loud, quiet, 1).peak).toBeCloseTo(0.09);
  expect(metered(loud, quiet, 5)).toEqual(quiet);
  expect(metered(quiet, loud, 0.02)).toEqual(loud);
});
