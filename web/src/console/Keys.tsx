/** The list of keys. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Key, t } from "./language.ts";

export const keysShown = signal(false);

const KEYS: readonly (readonly [keys: readonly string[], meaning: Key])[] = [
  [["Enter"], "keys.enter"],
  [["Shift", "Enter"], "keys.newline"],
  [["Esc"], "keys.escape"],
  [["Space"], "keys.space"],
  [["1", "2", "3"], "keys.pages"],
  [["e"], "keys.events"],
  [["c"], "keys.code"],
  [["x"], "keys.cut"],
  [["?"], "keys.help"],
];

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = keysShown.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  const close = () => {
    keysShown.value = false;
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">{t("keys.title")}</h2>
      <dl class="keys">
        {KEYS.map(([keys, meaning]) => (
          <>
            <dt key={meaning}>
              {keys.map((key) => (
                <>
                  <kbd key={key}>{key}</kbd>{" "}
                </>
              ))}
            </dt>
            <dd>{t(meaning)}</dd>
          </>
        ))}
      </dl>
      <button type="button" onClick={close}>
        {t("keys.close")}
      </button>
    </dialog>
  );
}
