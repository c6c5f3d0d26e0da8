import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fill, preferred, WORDS } from "../../src/console/language.ts";

const names = (words: string) => [...words.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("both languages have the same keys", () => {
  expect(Object.keys(WORDS.zh)).toEqual(Object.keys(WORDS.en));
});

test("every key has words in both languages, with the same values", () => {
  for (const [key, words] of Object.entries(WORDS.en)) {
    const other = WORDS.zh[key as keyof typeof WORDS.zh];
    expect(words.trim(), key).not.toBe("");
    expect(other.trim(), key).not.toBe("");
    expect(names(other), key).toEqual(names(words));
  }
});

test("every key is used", () => {
  const folder = new URL("../../src/console/", import.meta.url);
  const sources = readdirSync(folder)
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("words."))
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("\n");
  // Keys with a variable part, such as `nav.${page}`, of which the part is one of these.
  const variable = /^(nav|link|theme|phase|drawer|error|sound|operations\.state)\.\w+$/;
  const parts = [
    /^break\.(cut|freeze)(\.label)?$/,
    /^numbers\.(round_trip|first_audio|audible|partial|final|buffer|stalls|up|down|resumes)(\.hint)?$/,
    /^listen\.(microphone|file|sample)$/,
    /^events\.(up|down)$/,
    /^code\.(curl|python|javascript)(\.note)?$/,
    variable,
  ];
  const unused = Object.keys(WORDS.en).filter(
    (key) => !sources.includes(`"${key}"`) && !parts.some((part) => part.test(key)),
  );
  expect(unused).toEqual([]);
});

test("values are filled in, what is not given stays", () => {
  expect(fill("{count} of {total}", { count: 3 })).toBe("3 of {total}");
});

test.each([
  [["zh-TW", "en"], "zh"],
  [["fr-FR", "en-GB", "zh"], "en"],
  [["fr"], "en"],
  [[], "en"],
] as const)("who reads %j gets %s", (languages, expected) => {
  expect(preferred(languages)).toBe(expected);
});
