/** Which language the page speaks, and its words. */

import { computed, effect, signal } from "@preact/signals";
import { store } from "./memory.ts";
import { en } from "./words.en.ts";
import { zh } from "./words.zh.ts";

export type Key = keyof typeof en;
export type Words = Readonly<Record<Key, string>>;
export type Language = "en" | "zh";

export const WORDS: Readonly<Record<Language, Words>> = { en, zh };

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

const system = signal<Language>("en");
/** The user's choice; undefined follows the browser. */
export const chosenLanguage = signal<Language | undefined>(undefined);
export const language = computed<Language>(() => chosenLanguage.value ?? system.value);

/** The words of `key` in the current language; a component that calls it follows a switch. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(WORDS[language.value][key], values);
}

const names = computed(() => new Intl.DisplayNames([language.value], { type: "language" }));

/** A BCP 47 `tag` in the words of the current language. */
export function nameOf(tag: string): string {
  try {
    return names.value.of(tag) ?? tag;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return tag;
  }
}

/** Follow the browser's languages and the stored choice, and tell the document. */
export function startLanguage(): void {
  const read = () => {
    system.value = preferred(navigator.languages);
  };
  read();
  addEventListener("languagechange", read);
  const stored = store.read("language");
  if (chosenLanguage.value === undefined && isLanguage(stored)) chosenLanguage.value = stored;
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
    if (chosenLanguage.value) store.write("language", chosenLanguage.value);
  });
}
