/** The state of a page, in its words. */

import { t } from "./language.ts";
import { isRunning, type State, type Task, words } from "./phases.ts";

const WRONG = ["cut", "refused"];

export function StateLine({ task, state }: { task: Task; state: State }) {
  const tone = WRONG.includes(state.phase) ? "wrong" : isRunning(state.phase) ? "live" : "";
  return (
    <p class={`state ${tone}`} role="status" data-phase={state.phase}>
      {t(words(task, state), { position: state.position ?? "" })}
    </p>
  );
}
