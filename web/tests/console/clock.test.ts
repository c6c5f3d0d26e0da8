import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { every, next } from "../../src/console/clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what moves at different rates moves at the same moments", () => {
  const moments: Record<string, number[]> = { fast: [], slow: [] };
  const stops = [
    every(0.05, () => moments.fast?.push(Date.now())),
    every(0.2, () => moments.slow?.push(Date.now())),
  ];
  vi.advanceTimersByTime(1000);
  expect(moments.fast).toHaveLength(20);
  expect(moments.slow).toHaveLength(5);
  expect(moments.fast).toEqual(expect.arrayContaining(moments.slow ?? []));
  expect(vi.getTimerCount()).toBe(1);
  for (const stop of stops) stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("what is due once comes once, and may be called off", () => {
  const run = vi.fn();
  next(0.1, run);
  next(0.1, run)();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});
