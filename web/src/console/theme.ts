/** Light, dark, or as the system has it. */

import { computed, effect, signal } from "@preact/signals";
import { store } from "./memory.ts";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** Whether `value` names a theme. */
export function isTheme(value: unknown): value is Theme {
  return THEMES.some((theme) => theme === value);
}

const systemIsDark = signal(false);
export const theme = signal<Theme>("system");
/** What is on screen; canvases redraw when it changes. */
export const shade = computed<"light" | "dark">(() => {
  if (theme.value !== "system") return theme.value;
  return systemIsDark.value ? "dark" : "light";
});

/** The theme that the switch goes to next; from the system's to the one that looks different. */
export function nextTheme(current: Theme): Theme {
  const other = shade.value === "light" ? "dark" : "light";
  if (current === "system") return other;
  return current === (systemIsDark.value ? "light" : "dark") ? other : "system";
}

/** Follow the system and the stored choice, and tell the document. */
export function startTheme(): void {
  const query = matchMedia("(prefers-color-scheme: dark)");
  systemIsDark.value = query.matches;
  query.addEventListener("change", () => {
    systemIsDark.value = query.matches;
  });
  const stored = store.read("theme");
  if (theme.value === "system" && isTheme(stored)) theme.value = stored;
  shade.subscribe(() => colours.clear());
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    store.write("theme", theme.value);
  });
}

const colours = new Map<string, string>();

/** The value of a colour variable such as `--live`, for a canvas. */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, value);
  }
  return value;
}
