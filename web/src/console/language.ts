/** Which language the page speaks, and its words. */

import { computed, effect, signal } from "@preact/signals";
import { store } from "./memory.ts";
import type { en } from "./words.en.ts";

export type Key = keyof typeof en;
export type Words = Readonly<Record<Key, string>>;
export type Language = "en" | "zh";

/** Each language is a file of its own, so that nobody loads the one that they do not read. */
const FILES: Readonly<Record<Language, () => Promise<Words>>> = {
  en: async () => (await import("./words.en.ts")).en,
  zh: async () => (await import("./words.zh.ts")).zh,
};

/** Whether `value` names a language of the page. */
export function isLanguage(value: unknown): value is Language {
  return value === "en" || value === "zh";
}

/** The first of the browser's `languages` that the page speaks, else English. */
export function preferred(languages: readonly string[]): Language {
  for (const tag of languages) {
    const primary = tag.toLowerCase().split("-")[0];
    if (isLanguage(primary)) return primary;
  }
  return "en";
}

/** `words` with each `{name}` replaced by `values.name`; unknown names stay as they are. */
export function fill(words: string, values: Readonly<Record<string, string | number>>): string {
  return words.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

interface Shown {
  readonly language: Language;
  readonly words: Words;
}

const shown = signal<Shown>({ language: "en", words: {} as Words });
/** The user's choice; undefined follows the browser. */
export const chosenLanguage = signal<Language | undefined>(undefined);
/** The language on screen. */
export const language = computed<Language>(() => shown.value.language);
/** Whether the words of another language could not be loaded. */
export const isMissing = signal(false);

let wanted: Language = "en";

/** Show the page in `next`, once its words are here. */
async function show(next: Language): Promise<void> {
  wanted = next;
  const words = await FILES[next]();
  if (wanted === next) shown.value = { language: next, words };
}

/** Show the page in `next`, and remember that; without its words the page stays as it is. */
export async function choose(next: Language): Promise<boolean> {
  try {
    await show(next);
  } catch (error) {
    // `import` throws these for a file that is not there.
    if (!(error instanceof TypeError)) throw error;
    isMissing.value = true;
    return false;
  }
  isMissing.value = false;
  chosenLanguage.value = next;
  return true;
}

/** Whether there are words for `name`. */
export function isKey(name: string): name is Key {
  return Object.hasOwn(shown.peek().words, name);
}

/** The words of `key` in the current language; a component that calls it follows a switch. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(shown.value.words[key], values);
}

const names = computed(() => new Intl.DisplayNames([language.value], { type: "language" }));

/** A BCP 47 `tag` in the words of the current language. */
export function nameOf(tag: string): string {
  // ISO 639-2, which browsers have no word for.
  if (tag === "mul") return t("language.several");
  try {
    return names.value.of(tag) ?? tag;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return tag;
  }
}

/** Follow the browser's languages and the stored choice, and tell the document. */
export async function startLanguage(): Promise<void> {
  const stored = store.read("language");
  if (chosenLanguage.value === undefined && isLanguage(stored)) chosenLanguage.value = stored;
  await show(chosenLanguage.value ?? preferred(navigator.languages));
  addEventListener("languagechange", () => {
    if (chosenLanguage.value === undefined) void show(preferred(navigator.languages));
  });
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
    if (chosenLanguage.value) store.write("language", chosenLanguage.value);
  });
}
