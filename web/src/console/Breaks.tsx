/** Break it: cut, freeze, a bad network. */

import {
  type Break,
  breakIt,
  PROFILES,
  type Profile,
  profile,
  refusal,
  standing,
  underWay,
} from "./breaks.ts";
import { type Key, t } from "./language.ts";
import { comparison } from "./measures.ts";
import { isRunning } from "./phases.ts";
import { state as speaking } from "./speaking.ts";

const NAMES: Readonly<Record<Profile, Key>> = {
  none: "break.network.none",
  good: "break.good",
  lossy: "break.lossy",
  very_bad: "break.very_bad",
  "3g": "break.3g",
};

/** Seconds of a freeze. */
const FREEZE = 3;

export function Breaks() {
  return (
    <section aria-labelledby="break-title">
      <h2 id="break-title">{t("break.title")}</h2>
      <div class="breaks">
        <Button name="cut" how={{ action: "cut" }} />
        <Button name="freeze" how={{ action: "freeze", seconds: FREEZE }} />
        <Network />
      </div>
      <p class="hint" role="status">
        {words()}
      </p>
    </section>
  );
}

function Button({ name, how }: { name: "cut" | "freeze"; how: Break }) {
  return (
    <button
      type="button"
      disabled={standing.value !== "ready"}
      title={t(`break.${name}.label`)}
      onClick={() => void breakIt(how)}
    >
      {t(`break.${name}`)}
    </button>
  );
}

function Network() {
  const choose = (event: Event) => {
    const { value } = event.currentTarget as HTMLSelectElement;
    const found = PROFILES.find((name) => name === value);
    if (found) void breakIt({ action: "network", profile: found });
  };
  return (
    <select
      aria-label={t("break.network")}
      disabled={standing.value !== "ready"}
      value={profile.value}
      onChange={choose}
    >
      {PROFILES.map((name) => (
        <option key={name} value={name}>
          {t(NAMES[name])}
        </option>
      ))}
    </select>
  );
}

function words(): string {
  if (standing.value === "disabled") {
    return t("break.disabled", { option: "LEGATO_GATEWAY__IMPAIRMENTS=true" });
  }
  if (refusal.value) return t("break.failed", { message: refusal.value.message });
  if (underWay.value === "freeze") return t("break.frozen");
  if (underWay.value === "cut" && standing.value === "unknown") return t("break.cut.now");
  if (standing.value === "unknown") return t("break.unknown");
  if (comparison.value.state !== "pending") {
    return t(isRunning(speaking.value.phase) ? "break.delivered" : "break.idle");
  }
  return comparison.value.breaks ? t("break.pending") : t("break.ready");
}
