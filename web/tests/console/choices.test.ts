import { beforeEach, expect, test, vi } from "vitest";
import type { Engine } from "../../src/core/api.ts";

vi.stubGlobal("document", { baseURI: "http://host/", documentElement: {} });
vi.stubGlobal("location", { href: "http://host/", hash: "" });
const { engines } = await import("../../src/console/catalog.ts");
const { languageOptions } = await import("../../src/console/choices.ts");
const { choose } = await import("../../src/console/language.ts");

function engine(name: string, languages: string[], more: Partial<Engine> = {}): Engine {
  return {
    kind: "recognize",
    name,
    state: "ready",
    default: false,
    version: "1",
    languages,
    voices: [],
    slots: 1,
    deterministic: true,
    ...more,
  };
}

const labels = (chosen?: string) => languageOptions("recognize", chosen).map(({ label }) => label);

beforeEach(async () => {
  await choose("en");
  engines.value = [
    engine("moonshine", ["en"], { default: true }),
    engine("sherpa", ["zh", "en", "ja", "ko"]),
    engine("tone", ["mul"]),
  ];
});

test("the languages of tones are offered to who chose tones", () => {
  expect(labels()).toEqual(["automatic (English)", "Chinese", "English", "Japanese", "Korean"]);
  expect(labels("tone")).toHaveLength(2);
});

test("automatic says what is heard, unless that is too much to say", () => {
  expect(labels("moonshine")).toEqual(["automatic (English)", "English"]);
  expect(labels("sherpa")[0]).toBe("automatic");
});
