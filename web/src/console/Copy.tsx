/** A button that copies and says so. */

import { useSignal } from "@preact/signals";
import { copy } from "./files.ts";
import { t } from "./language.ts";

export function Copy({ text, disabled = false }: { text: () => string; disabled?: boolean }) {
  const copied = useSignal(false);
  const press = async () => {
    copied.value = await copy(text());
    setTimeout(() => {
      copied.value = false;
    }, 2000);
  };
  return (
    <>
      <button type="button" class="quiet" disabled={disabled} onClick={press}>
        {copied.value ? t("code.copied") : t("code.copy")}
      </button>
      <span role="status" class="hidden">
        {copied.value ? t("code.copied") : ""}
      </span>
    </>
  );
}
