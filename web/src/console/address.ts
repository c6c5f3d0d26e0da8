/** The settings that hold now, kept in step with the address bar. */

import { signal } from "@preact/signals";
import { choose, chosenLanguage } from "./language.ts";
import {
  followAddress,
  type Page,
  readSettings,
  type Settings,
  writeSettings,
} from "./settings.ts";
import { theme } from "./theme.ts";

export const settings = signal<Settings>(readSettings(location.hash));

/** Change some of the settings; `undefined` goes back to the server's choice. */
export function change(news: { readonly [name in keyof Settings]?: Settings[name] | undefined }) {
  const merged: Record<string, unknown> = { ...settings.value, ...news };
  for (const name of Object.keys(merged)) if (merged[name] === undefined) delete merged[name];
  settings.value = merged as unknown as Settings;
}

/** Go to `page`, so that the browser's Back comes from there. */
export function goTo(page: Page): void {
  if (page !== settings.value.page) location.hash = writeSettings({ ...settings.value, page });
}

/** Seconds; Safari refuses more than 100 changes of the address in 30 seconds. */
const WRITE_AFTER = 0.4;

/** Let the address and the settings follow each other. */
export function startAddress(): void {
  if (settings.value.lang) chosenLanguage.value = settings.value.lang;
  if (settings.value.theme) theme.value = settings.value.theme;
  let known = location.hash;
  addEventListener("hashchange", () => {
    known = location.hash;
    settings.value = followAddress(settings.value, location.hash);
    const { lang, theme: look } = settings.value;
    if (lang && lang !== chosenLanguage.value) void choose(lang);
    if (look) theme.value = look;
  });
  let isDue = false;
  const write = () => {
    isDue = false;
    // Another page was asked for, and the event that tells of it, and leads here again, is to come.
    if (location.hash !== known) return;
    const fragment = writeSettings(settings.value);
    if (known === fragment) return;
    history.replaceState(null, "", fragment);
    known = location.hash;
  };
  settings.subscribe(() => {
    if (!isDue) setTimeout(write, WRITE_AFTER * 1000);
    isDue = true;
  });
}
