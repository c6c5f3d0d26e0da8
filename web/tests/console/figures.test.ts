import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytes,
  clock,
  count,
  duration,
  length,
  significant,
  spoken,
} from "../../src/console/figures.ts";

test.each([
  [0, "0"],
  [0.004, "0"],
  [4.126, "4.13"],
  [9.996, "10"],
  [47.04, "47"],
  [99.96, "100"],
  [112.4, "112"],
  [-3.5, "-3.5"],
  [Number.NaN, "–"],
])("%d is shown as %s", (value, shown) => {
  expect(significant(value)).toBe(shown);
});

test.each([
  [0.0469, "46.9 ms"],
  [0.9996, "1 s"],
  [1.42, "1.42 s"],
  [100, "1.67 min"],
  [7200, "2 h"],
])("%d seconds are %s", (seconds, shown) => {
  expect(spoken(duration(seconds))).toBe(shown);
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [999.7, "1 kB"],
  [326_900, "327 kB"],
  [1_370_000, "1.37 MB"],
  [5e12, "5000 GB"],
])("%d bytes are %s", (size, shown) => {
  expect(spoken(bytes(size))).toBe(shown);
});

test("a figure has three significant digits at most", () => {
  const digits = (shown: string) => shown.replace(/[^0-9]/g, "").replace(/^0+/, "").length;
  fc.assert(
    fc.property(fc.double({ min: 0, max: 9.99e11, noNaN: true }), (value) => {
      expect(digits(bytes(value).number)).toBeLessThanOrEqual(3);
      expect(digits(count(value).number)).toBeLessThanOrEqual(3);
    }),
  );
});

test("a position keeps its unit and one decimal", () => {
  expect(length(0)).toEqual({ number: "0.0", unit: "s" });
  expect(length(61.25)).toEqual({ number: "61.3", unit: "s" });
});

test.each([
  [0, "0:00.0"],
  [59.97, "1:00.0"],
  [83.44, "1:23.4"],
  [-1, "0:00.0"],
])("second %d of a stream is %s", (seconds, shown) => {
  expect(clock(seconds)).toBe(shown);
});
