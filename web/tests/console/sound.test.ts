import { expect, test } from "vitest";
import { ceiling } from "../../src/console/Chart.tsx";
import { place } from "../../src/console/LevelMeter.tsx";
import { Moments } from "../../src/console/moments.ts";
import { History } from "../../src/console/samples.ts";
import { KEPT, span, Take } from "../../src/console/take.ts";
import { due, pieces } from "../../src/console/typing.ts";

test("pieces are words with the space after them, of Chinese characters, and join to the text", () => {
  const text = "Hello,  you 你好，世界。 a1 ";
  expect(pieces(text)).toEqual(["Hello,  ", "you ", "你", "好，", "世", "界。 ", "a1 "]);
  expect(pieces(text).join("")).toBe(text);
  expect(pieces("")).toEqual([]);
});

test("pieces are due by the clock, the first at once", () => {
  expect(due(10, 0, 8)).toBe(1);
  expect(due(10, 0.5, 8)).toBe(5);
  expect(due(10, 60, 8)).toBe(10);
});

test("a history keeps its span and its limit", () => {
  const history = new History(10, 5);
  for (let second = 0; second < 30; second += 1) history.push(second, second * 2);
  expect(history.points.times).toEqual([25, 26, 27, 28, 29]);
  const sparse = new History(10);
  sparse.push(0, 1);
  sparse.push(100, 2);
  expect(sparse.points).toEqual({ times: [100], values: [2] });
});

test("a moment is found for the sample that was heard then", () => {
  const moments = new Moments();
  for (let frame = 1; frame <= 10; frame += 1) moments.note(frame * 320, frame * 0.02);
  expect(moments.at(640)).toBeCloseTo(0.04);
  expect(moments.at(700)).toBeCloseTo(0.06);
  expect(moments.at(99_999)).toBeCloseTo(0.2);
});

test("moments of long ago are forgotten", () => {
  const moments = new Moments();
  for (let frame = 1; frame <= 20_000; frame += 1) moments.note(frame * 320, frame * 0.02);
  expect(moments.at(320)).toBeUndefined();
  expect(moments.at(20_000 * 320)).toBeCloseTo(400);
});

test("no moment is known before anything was heard", () => {
  expect(new Moments().at(100)).toBeUndefined();
});

test("a take counts what came and keeps its beginning only", () => {
  const take = new Take(10);
  take.add(new Int16Array(KEPT * 10));
  take.add(new Int16Array(5));
  expect(take.seconds).toBe(KEPT + 0.5);
  expect(take.truncated).toBe(true);
  expect(take.pieces).toHaveLength(1);
});

test("a waveform shows all there is, and stands still between its steps", () => {
  expect([0, 3.9, 4.1, 5.9, 6.1, 5000].map(span)).toEqual([4, 4, 6, 6, 8, 5000]);
});

test("the top of a chart is a round number that is not below the greatest value", () => {
  expect([0, 1, 1.1, 2, 47, 0.0031].map(ceiling)).toEqual([1, 1, 2, 2, 50, 0.005]);
});

test("the level meter is in decibels from -60 to 0", () => {
  expect(place(0)).toBe(0);
  expect(place(0.001)).toBeCloseTo(0);
  expect(place(0.1)).toBeCloseTo(2 / 3);
  expect(place(1)).toBe(1);
});
