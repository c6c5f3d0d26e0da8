/** What can be chosen, as options of a select. */

import type { Engine } from "../core/api.ts";
import type { Option } from "./Choice.tsx";
import { engines, languagesOf, usable } from "./catalog.ts";
import { nameOf, t } from "./language.ts";

/** The value of the option that leaves it to the server. */
export const AUTOMATIC = "";

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

/** Languages as options, named in the page's own. */
export function languageOptions(kind: Engine["kind"], engine: string | undefined): Option[] {
  const all = usable(kind).filter(({ name }) => engine === undefined || name === engine);
  const named = languagesOf(all).map((tag) => ({ value: tag, label: nameOf(tag) }));
  named.sort((one, other) => one.label.localeCompare(other.label));
  return [automatic(), ...named];
}
