/** What a page is doing, as a table, and the words for it. */

import type { Key } from "./language.ts";

export type Phase =
  | "idle"
  | "opening"
  | "thinking"
  | "queued"
  | "speaking"
  | "listening"
  | "recovering"
  | "degraded"
  | "cut"
  | "refused"
  | "stopped"
  | "done"
  | "silent";

export type Happening =
  | "start"
  | "opened"
  | "queued"
  | "started"
  | "sounding"
  | "finishing"
  | "recovering"
  | "degraded"
  | "restored"
  | "cut"
  | "resumed"
  | "end"
  | "nothing"
  | "failed"
  | "stop";

/** A phase, and for a disturbance the phase that it interrupted. */
export interface State {
  readonly phase: Phase;
  readonly before?: Phase;
  /** Place in the server's queue. */
  readonly position?: number;
}

export const IDLE: State = { phase: "idle" };

/** `back` returns to what was disturbed. */
type Next = Phase | "back";
type Table = Readonly<Record<Phase, { readonly [happening in Happening]?: Next }>>;

const disturbances = { recovering: "recovering", degraded: "degraded", cut: "cut" } as const;
const endings = { failed: "refused", stop: "stopped", end: "done", nothing: "silent" } as const;
const healed = { restored: "back", resumed: "back", ...endings } as const;
const undone = { ...disturbances, ...healed } as const;

const SPEAK: Table = {
  idle: { start: "thinking" },
  opening: {},
  thinking: { queued: "queued", sounding: "speaking", ...disturbances, ...endings },
  queued: { queued: "queued", started: "thinking", sounding: "speaking", cut: "cut", ...endings },
  speaking: { ...disturbances, ...endings },
  listening: {},
  recovering: { sounding: "speaking", ...undone },
  degraded: { sounding: "degraded", ...undone },
  cut: healed,
  refused: { start: "thinking" },
  stopped: { start: "thinking" },
  done: { start: "thinking" },
  silent: { start: "thinking" },
};

const LISTEN: Table = {
  idle: { start: "opening" },
  opening: { opened: "listening", failed: "refused", stop: "stopped" },
  thinking: { queued: "queued", ...disturbances, ...endings },
  queued: { queued: "queued", started: "listening", finishing: "queued", cut: "cut", ...endings },
  speaking: {},
  listening: { queued: "queued", finishing: "thinking", ...disturbances, ...endings },
  recovering: { finishing: "recovering", ...undone },
  degraded: { finishing: "degraded", ...undone },
  cut: { finishing: "cut", ...healed },
  refused: { start: "opening" },
  stopped: { start: "opening" },
  done: { start: "opening" },
  silent: { start: "opening" },
};

export const TABLES = { speak: SPEAK, listen: LISTEN } as const;
export type Task = keyof typeof TABLES;

const DISTURBED: readonly Phase[] = ["recovering", "degraded", "cut"];
const RUNNING: readonly Phase[] = [
  "opening",
  "thinking",
  "queued",
  "speaking",
  "listening",
  ...DISTURBED,
];

/** Whether something is under way that can be stopped. */
export function isRunning(phase: Phase): boolean {
  return RUNNING.includes(phase);
}

/** The state after `happening`; what the table does not name changes nothing. */
export function next(task: Task, state: State, happening: Happening, position?: number): State {
  const to = TABLES[task][state.phase][happening];
  if (to === undefined) return state;
  if (DISTURBED.includes(state.phase) && happening === "finishing") {
    return { ...state, before: "thinking" };
  }
  if (to === "back") return { phase: state.before ?? "thinking" };
  if (DISTURBED.includes(to)) {
    const before = DISTURBED.includes(state.phase) ? state.before : state.phase;
    return before === undefined ? { phase: to } : { phase: to, before };
  }
  return position === undefined ? { phase: to } : { phase: to, position };
}

const SHARED = ["queued", "recovering", "degraded", "cut", "refused", "stopped", "silent"] as const;
type Shared = (typeof SHARED)[number];
const SPEAKING: Readonly<Record<Exclude<Phase, Shared>, Key>> = {
  idle: "phase.speak.idle",
  opening: "phase.speak.thinking",
  thinking: "phase.speak.thinking",
  speaking: "phase.speak.speaking",
  listening: "phase.speak.speaking",
  done: "phase.speak.done",
};
const LISTENING: Readonly<Record<Exclude<Phase, Shared>, Key>> = {
  idle: "phase.listen.idle",
  opening: "phase.listen.opening",
  thinking: "phase.listen.thinking",
  speaking: "phase.listen.listening",
  listening: "phase.listen.listening",
  done: "phase.listen.done",
};

/** The words for `state`. */
export function words(task: Task, state: State): Key {
  const { phase } = state;
  if (phase === "queued" && state.position !== undefined) return "phase.queued.position";
  if (isShared(phase)) return `phase.${phase}`;
  return task === "speak" ? SPEAKING[phase] : LISTENING[phase];
}

function isShared(phase: Phase): phase is Shared {
  return SHARED.some((shared) => shared === phase);
}
