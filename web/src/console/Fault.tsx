/** What happened and what to do, with a way to try again. */

import type { Fault as FaultFacts } from "./fault.ts";
import { duration, spoken } from "./figures.ts";
import { t } from "./language.ts";

export interface FaultProps {
  readonly fault: FaultFacts | undefined;
  readonly onRetry: () => void;
  /** Whether to add that what was typed is still there. */
  readonly kept?: boolean;
}

export function Fault({ fault, onRetry, kept = false }: FaultProps) {
  return (
    <div role="alert">
      {fault ? (
        <div class="fault">
          <div>
            {t(fault.key, fault.values)} {kept ? t("error.kept") : ""}{" "}
            {fault.retryAfter === undefined
              ? ""
              : t("error.again_in", { seconds: spoken(duration(fault.retryAfter)) })}
            <small>
              {t("error.code", { code: fault.code })}
              {fault.detail ? ` · ${fault.detail}` : ""}
            </small>
          </div>
          <button type="button" onClick={onRetry}>
            {fault.code === "sound_suspended" ? t("sound.resume") : t("error.retry")}
          </button>
        </div>
      ) : null}
    </div>
  );
}
