import fc from "fast-check";
import { expect, test } from "vitest";
import {
  DEFAULTS,
  followAddress,
  readSettings,
  type Settings,
  SHARED_CHARACTERS,
  writeSettings,
} from "../../src/console/settings.ts";

const name = fc.option(fc.string({ minLength: 1, maxLength: 64 }), { nil: undefined });
const present = <T extends object>(all: T): T =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T;

const arbitrary = fc
  .record({
    page: fc.constantFrom("speak", "listen", "operations"),
    text: fc.option(fc.string({ unit: "grapheme", maxLength: 200 }), { nil: undefined }),
    voice: name,
    engine: name,
    spoken: name,
    recognizer: name,
    heard: name,
    speed: fc.integer({ min: 10, max: 40 }).map((step) => step / 20),
    streaming: fc.boolean(),
    pace: fc.integer({ min: 0, max: 50 }),
    source: fc.constantFrom("microphone", "file", "sample"),
    frameMs: fc.constantFrom(20, 200),
    effects: fc.boolean(),
    lang: fc.constantFrom(undefined, "en", "zh"),
    theme: fc.constantFrom(undefined, "light", "dark", "system"),
  })
  .map((all) => present(all) as Settings);

test("settings come back from their address as they were", () => {
  fc.assert(
    fc.property(arbitrary, (settings) => {
      expect(readSettings(writeSettings(settings))).toEqual(settings);
    }),
  );
});

test("what has its default is not in the address", () => {
  expect(writeSettings(DEFAULTS)).toBe("#/speak");
});

test("an address without settings, or with nonsense, gives the defaults", () => {
  for (const fragment of ["", "#", "#/", "#/nowhere?speed=fast&pace=-3&source=tape&lang=fr"]) {
    expect(readSettings(fragment)).toEqual(DEFAULTS);
  }
});

test("a speed out of range has the default", () => {
  expect(readSettings("#/speak?speed=9").speed).toBe(1);
});

test("a long text is not put into the address", () => {
  const text = "a".repeat(SHARED_CHARACTERS + 1);
  expect(writeSettings({ ...DEFAULTS, text })).toBe("#/speak");
});

test("an empty text is kept, as the user emptied the box", () => {
  expect(readSettings(writeSettings({ ...DEFAULTS, text: "" })).text).toBe("");
});

test("a text too long for the address survives a change of the page", () => {
  const long = { ...DEFAULTS, text: "a".repeat(SHARED_CHARACTERS + 1) };
  const there = followAddress(long, writeSettings({ ...long, page: "listen" }));
  expect(there).toEqual({ ...long, page: "listen" });
});

test("a short text follows the address, also back to the sentence of the page", () => {
  expect(followAddress({ ...DEFAULTS, text: "mine" }, "#/speak").text).toBeUndefined();
  expect(followAddress({ ...DEFAULTS, text: "mine" }, "#/speak?text=yours").text).toBe("yours");
});
