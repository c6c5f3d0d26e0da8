/** A part of the page that is loaded when it is looked at. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "./language.ts";

/** A component that `load` brings; what could not be loaded is asked for again the next time. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const part = signal<ComponentType<Props> | "missing" | undefined>(undefined);
  const ask = async () => {
    if (typeof part.peek() === "function") return;
    try {
      part.value = await load();
    } catch (error) {
      // `import` throws these for a file that is not there.
      if (!(error instanceof TypeError)) throw error;
      part.value = "missing";
    }
  };
  return (props) => {
    useEffect(() => void ask(), []);
    const Part = part.value;
    if (Part === "missing") return <p role="alert">{t("part.missing")}</p>;
    return Part ? <Part {...props} /> : null;
  };
}
