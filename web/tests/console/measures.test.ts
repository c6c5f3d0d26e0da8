import { expect, test } from "vitest";
import {
  beginComparison,
  comparison,
  countBreak,
  endComparison,
} from "../../src/console/measures.ts";

test("a stream that was stopped is not compared, and its breaks are still told", () => {
  beginComparison();
  countBreak();
  countBreak();
  endComparison();
  expect(comparison.value).toEqual({ state: "stopped", breaks: 2, lost: 0 });
});

test("both ends have counted the same, or not", () => {
  beginComparison();
  endComparison({ frames: 1, samples: 320, ours: "aa", theirs: "aa" });
  expect(comparison.value.state).toBe("equal");
  beginComparison();
  endComparison({ frames: 1, samples: 320, ours: "aa", theirs: "bb" });
  expect(comparison.value.state).toBe("different");
});
