import { expect, it } from "vitest";
import { Meter, SILENCE } from "../../src/core/sound/meter.ts";

it("measures all since the last look", () => {
  const meter = new Meter();
  meter.add(Float32Array.of(0.5, -0.5));
  meter.add(Float32Array.of(0, -0.75, 0, 0));
  const { rms, peak } = meter.take();
  expect(rms).toBeCloseTo(Math.sqrt((0.25 + 0.25 + 0.5625) / 6));
  expect(peak).toBe(0.75);
  expect(meter.take()).toBe(SILENCE);
});
