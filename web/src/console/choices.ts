/** What can be chosen, as options of a select. */

import type { Engine } from "../core/api.ts";
import type { Option } from "./Choice.tsx";
import { engines, languagesOf, usable } from "./catalog.ts";
import { nameOf, t } from "./language.ts";

/** The value of the option that leaves it to the server. */
export const AUTOMATIC = "";

/** Languages that still fit behind the word. */
const NAMED = 3;

/** Leave it to the server. */
export function automatic(): Option {
  return { value: AUTOMATIC, label: t("choice.auto") };
}

/** Engines as options; those that cannot be used say so. */
export function engineOptions(kind: Engine["kind"]): Option[] {
  const all = (engines.value ?? []).filter((engine) => engine.kind === kind);
  return [automatic(), ...all.map(optionOf)];
}

function optionOf({ name, state: standing }: Engine): Option {
  if (standing === "ready") return { value: name, label: name };
  const why = t(standing === "loading" ? "choice.loading" : "choice.unavailable");
  return { value: name, label: `${name} (${why})`, disabled: standing === "unavailable" };
}

/** Said by an engine that takes any language: tones are no language to choose. */
const ANY = "mul";

/** What it is left to the server; of a recognizer with the languages that it then hears. */
function automaticFor(kind: Engine["kind"], engine: string | undefined): Option {
  const [chosen] = usable(kind).filter((one) =>
    engine === undefined ? one.default : one.name === engine,
  );
  const heard = kind === "recognize" ? (chosen?.languages ?? []) : [];
  if (heard.length === 0 || heard.length > NAMED || heard.includes(ANY)) return automatic();
  return { value: AUTOMATIC, label: `${t("choice.auto")} (${heard.map(nameOf).join(", ")})` };
}

/** Languages as options, named in the page's own. */
export function languageOptions(kind: Engine["kind"], engine: string | undefined): Option[] {
  const all = usable(kind).filter(({ name, languages }) =>
    engine === undefined ? !languages.includes(ANY) : name === engine,
  );
  const named = languagesOf(all).map((tag) => ({ value: tag, label: nameOf(tag) }));
  named.sort((one, other) => one.label.localeCompare(other.label));
  return [automaticFor(kind, engine), ...named];
}
