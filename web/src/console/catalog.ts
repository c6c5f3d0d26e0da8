/** Engines and voices of this server, as `/v1/engines` tells them. */

import { computed, signal } from "@preact/signals";
import type { Engine } from "../core/api.ts";
import { settings } from "./address.ts";
import { client } from "./connection.ts";
import { type Language, language } from "./language.ts";
import { answered } from "./server.ts";

/** Undefined until the server has answered. */
export const engines = signal<readonly Engine[] | undefined>(undefined);

/** Ask the server for its engines, again while some load. */
export async function loadCatalog(): Promise<void> {
  const answer = await answered(() => client.engines());
  if ("value" in answer) engines.value = answer.value;
  const loading = engines.value?.some((engine) => engine.state === "loading") ?? true;
  if (loading || "failure" in answer) setTimeout(loadCatalog, 2000);
}

/** Engines of `kind` that can be used now. */
export function usable(
  kind: Engine["kind"],
  all: readonly Engine[] = engines.value ?? [],
): Engine[] {
  return all.filter((engine) => engine.kind === kind && engine.state === "ready");
}

/** Languages of `engines`, each once. */
export function languagesOf(all: readonly Engine[]): string[] {
  return [...new Set(all.flatMap((engine) => engine.languages))].sort();
}

/** Whether one of `all` speaks `primary`, such as `zh`; Mandarin is also tagged `cmn`. */
export function speaks(all: readonly Engine[], primary: string): boolean {
  const tags = primary === "zh" ? ["zh", "cmn"] : [primary];
  return languagesOf(all).some((tag) => tags.includes(tag.toLowerCase().split("-")[0] ?? ""));
}

/** Whether the sentence in the box is English because nothing here speaks the page's language. */
export const isForeign = computed(
  () =>
    language.value === "zh" &&
    settings.value.text === undefined &&
    engines.value !== undefined &&
    !speaks(usable("synthesize"), "zh"),
);

/** What is in the box at first; both are here, as a page in Chinese may have to speak English. */
const SENTENCES: Readonly<Record<Language, string>> = {
  en:
    "The harbour was quiet that morning, and only a few gulls were awake. " +
    "A boat came in without a light, and nobody knew its name.",
  zh: "清晨的港口很安静，只有几只海鸥醒着。一条没有点灯的船驶了进来，没有人知道它的名字。",
};

/** What is spoken: the user's text, or the sentence that is in the box at first. */
export const text = computed(() => {
  if (settings.value.text !== undefined) return settings.value.text;
  return SENTENCES[isForeign.value ? "en" : language.value];
});
