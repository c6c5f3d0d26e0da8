/** The current settings as a program. */

import { signal } from "@preact/signals";
import { settings } from "./address.ts";
import { Copy } from "./Copy.tsx";
import { text } from "./catalog.ts";
import { CODE_KINDS, type CodeKind, code } from "./code.ts";
import { t } from "./language.ts";
import { base } from "./server.ts";

const kind = signal<CodeKind>("python");

function program(): string {
  return code(kind.value, settings.value, base(), text.value);
}

export function Code() {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is to be reached by keyboard
    <section class="drawer-body" tabIndex={0} aria-label={t("drawer.code")}>
      <p class="hint">{t(`code.${kind.value}.note`)}</p>
      <pre data-code={kind.value}>{program()}</pre>
    </section>
  );
}

/** Which language, and copy. */
export function CodeTools() {
  return (
    <div class="drawer-tools">
      <fieldset class="choice">
        <legend class="hidden">{t("code.kinds")}</legend>
        {CODE_KINDS.map((name) => (
          <button
            key={name}
            type="button"
            class="tab"
            aria-pressed={kind.value === name}
            onClick={() => {
              kind.value = name;
            }}
          >
            {t(`code.${name}`)}
          </button>
        ))}
      </fieldset>
      <Copy text={program} />
    </div>
  );
}
