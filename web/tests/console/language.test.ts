import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  choose,
  fill,
  isMissing,
  language,
  nameOf,
  preferred,
  t,
} from "../../src/console/language.ts";
import { en } from "../../src/console/words.en.ts";
import { zh } from "../../src/console/words.zh.ts";

const names = (words: string) => [...words.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("both languages have the same keys", () => {
  expect(Object.keys(zh)).toEqual(Object.keys(en));
});

test("every key has words in both languages, with the same values", () => {
  for (const [key, words] of Object.entries(en)) {
    const other = zh[key as keyof typeof zh];
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
  const unused = Object.keys(en).filter(
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

test("the page changes its language when the words are there", async () => {
  expect(await choose("zh")).toBe(true);
  expect([language.value, t("speak.go")]).toEqual(["zh", zh["speak.go"]]);
  expect(await choose("en")).toBe(true);
  expect([language.value, t("speak.go")]).toEqual(["en", en["speak.go"]]);
  expect(isMissing.value).toBe(false);
});

test("of two choices the last one counts", async () => {
  await Promise.all([choose("zh"), choose("en")]);
  expect(language.value).toBe("en");
});

test.each([
  ["en", "several languages", "Chinese"],
  ["zh", "多种语言", "中文"],
] as const)("in %s, tags have names", async (page, several, chinese) => {
  await choose(page);
  expect([nameOf("mul"), nameOf("zh"), nameOf("not a tag")]).toEqual([
    several,
    chinese,
    "not a tag",
  ]);
});
