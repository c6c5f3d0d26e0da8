import { expect, test } from "vitest";
import { faultFrom, faultOf } from "../../src/console/fault.ts";
import { choose } from "../../src/console/language.ts";
import { en } from "../../src/console/words.en.ts";
import { zh } from "../../src/console/words.zh.ts";
import { LegatoError } from "../../src/core/failure.ts";
import { FIXES, type SoundCode, SoundError } from "../../src/core/sound/index.ts";

await choose("en");

test("every way that sound fails has its sentence in both languages", () => {
  for (const code of Object.keys(FIXES) as SoundCode[]) {
    const { key } = faultFrom(new SoundError(code, "as the browser says"));
    expect(key).toBe(`sound.${code}`);
    expect(en[key]).not.toBe(zh[key]);
  }
});

test("a code of the server has its sentence, and the server's words beside it", () => {
  const fault = faultOf({ code: "overloaded", message: "32 of 32 slots", retryAfter: 2 });
  expect(fault).toMatchObject({ key: "error.overloaded", detail: "32 of 32 slots", retryAfter: 2 });
});

test("a code that the page does not know is told in the server's words", () => {
  const fault = faultFrom(new LegatoError("brand_new", "What is new."));
  expect(fault).toMatchObject({ key: "error.unknown", code: "brand_new" });
  expect(fault.values).toEqual({ message: "What is new." });
  expect(fault.detail).toBeUndefined();
});

test("what is no error of ours is told too", () => {
  expect(faultFrom(new TypeError("odd"))).toMatchObject({ key: "sound.unknown", code: "unknown" });
  expect(faultFrom("odd").values).toEqual({ message: "odd" });
});
