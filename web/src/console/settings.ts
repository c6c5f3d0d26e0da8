/** What is set on the page, and the same as a fragment that can be shared. */

import { isLanguage, type Language } from "./language.ts";
import { isTheme, type Theme } from "./theme.ts";

export type Page = "speak" | "listen" | "operations";
export type Source = "microphone" | "file" | "sample";
export type FrameMs = 20 | 200;

export interface Settings {
  readonly page: Page;
  /** Undefined: the sentence of the page's language. */
  readonly text?: string;
  /** Undefined, of this and the next: the server chooses. */
  readonly voice?: string;
  readonly engine?: string;
  readonly spoken?: string;
  readonly speed: number;
  readonly streaming: boolean;
  /** Words per second in which the text is sent; 0: all at once. */
  readonly pace: number;
  readonly source: Source;
  readonly recognizer?: string;
  readonly heard?: string;
  readonly frameMs: FrameMs;
  readonly effects: boolean;
  readonly lang?: Language;
  readonly theme?: Theme;
}

export const DEFAULTS: Settings = {
  page: "speak",
  speed: 1,
  streaming: true,
  pace: 0,
  source: "microphone",
  frameMs: 20,
  effects: true,
};

export const SPEED = { min: 0.5, max: 2, step: 0.05 } as const;
export const PACE = { min: 1, max: 50, step: 1, start: 8 } as const;
/** Longer text is not put into an address. */
export const SHARED_CHARACTERS = 2000;

const PAGES: readonly Page[] = ["speak", "listen", "operations"];
const SOURCES: readonly Source[] = ["microphone", "file", "sample"];
const NAMES = ["voice", "engine", "spoken", "recognizer", "heard"] as const;

/**
 * Settings from a fragment such as `#/listen?frame=200`.
 *
 * It is a fragment because browsers do not send it: text stays out of the server's logs. What is
 * not understood has its default, so an old address still opens.
 */
export function readSettings(fragment: string): Settings {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const asked = new URLSearchParams(query);
  const text = asked.get("text");
  const lang = asked.get("lang");
  const theme = asked.get("theme");
  return {
    page: PAGES.find((page) => page === path) ?? DEFAULTS.page,
    speed: bounded(asked.get("speed"), SPEED.min, SPEED.max, DEFAULTS.speed),
    streaming: asked.get("streaming") !== "off",
    pace: Math.round(bounded(asked.get("pace"), 0, PACE.max, DEFAULTS.pace)),
    source: SOURCES.find((source) => source === asked.get("source")) ?? DEFAULTS.source,
    frameMs: asked.get("frame") === "200" ? 200 : 20,
    effects: asked.get("effects") !== "off",
    ...named(asked),
    ...(text === null ? {} : { text: text.slice(0, SHARED_CHARACTERS) }),
    ...(isLanguage(lang) ? { lang } : {}),
    ...(isTheme(theme) ? { theme } : {}),
  };
}

type Named = { [name in (typeof NAMES)[number]]?: string };

function named(asked: URLSearchParams): Named {
  const found: Named = {};
  for (const name of NAMES) {
    const value = asked.get(name);
    if (value) found[name] = value.slice(0, 64);
  }
  return found;
}

function bounded(value: string | null, min: number, max: number, otherwise: number): number {
  const number = Number(value ?? Number.NaN);
  return number >= min && number <= max ? number : otherwise;
}

/** The fragment of `settings`; what has its default is left out. */
export function writeSettings(settings: Settings): string {
  const told = new URLSearchParams();
  const { text, lang, theme } = settings;
  if (text !== undefined && text.length <= SHARED_CHARACTERS) told.set("text", text);
  for (const name of NAMES) {
    const value = settings[name];
    if (value) told.set(name, value);
  }
  if (settings.speed !== DEFAULTS.speed) told.set("speed", String(settings.speed));
  if (!settings.streaming) told.set("streaming", "off");
  if (settings.pace !== DEFAULTS.pace) told.set("pace", String(settings.pace));
  if (settings.source !== DEFAULTS.source) told.set("source", settings.source);
  if (settings.frameMs !== DEFAULTS.frameMs) told.set("frame", String(settings.frameMs));
  if (!settings.effects) told.set("effects", "off");
  if (lang) told.set("lang", lang);
  if (theme) told.set("theme", theme);
  const query = told.toString();
  return `#/${settings.page}${query ? `?${query}` : ""}`;
}

/** The settings of `fragment`; a text that was too long for it is the one that `before` has. */
export function followAddress(before: Settings, fragment: string): Settings {
  const asked = readSettings(fragment);
  const { text = "" } = before;
  return asked.text === undefined && text.length > SHARED_CHARACTERS ? { ...asked, text } : asked;
}
