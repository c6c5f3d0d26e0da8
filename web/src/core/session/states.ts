/** States and signals of links and streams, as tables; the same as in Python. */

import { LegatoError } from "../failure.ts";

/** One connection. */
export type LinkState = "idle" | "greeting" | "open" | "closed";

/** What moves a link. */
export type LinkSignal = "connect" | "greet" | "lose" | "close";

/** One stream. */
export type StreamState = "starting" | "open" | "suspended" | "resuming" | "ended" | "failed";

/** What moves a stream. */
export type StreamSignal = "started" | "lose" | "resume" | "resumed" | "restart" | "end" | "fail";

type Table<S extends string, G extends string> = Readonly<
  Record<S, Readonly<Partial<Record<G, S>>>>
>;

export const LINK: Table<LinkState, LinkSignal> = {
  idle: { connect: "greeting", lose: "idle", close: "closed" },
  greeting: { greet: "open", lose: "idle", close: "closed" },
  open: { lose: "idle", close: "closed" },
  closed: { lose: "closed", close: "closed" },
};

export const STREAM: Table<StreamState, StreamSignal> = {
  starting: { started: "open", lose: "suspended", end: "ended", fail: "failed" },
  open: {
    started: "open",
    lose: "suspended",
    resume: "resuming",
    resumed: "open",
    restart: "starting",
    end: "ended",
    fail: "failed",
  },
  suspended: {
    lose: "suspended",
    restart: "starting",
    resume: "resuming",
    resumed: "open",
    end: "ended",
    fail: "failed",
  },
  resuming: {
    restart: "starting",
    resumed: "open",
    started: "resuming",
    lose: "suspended",
    end: "ended",
    fail: "failed",
  },
  ended: {},
  failed: {},
};

/** The state that a signal leads to; fails with `unexpected_message` if there is no such step. */
export function advance<S extends string, G extends string>(
  table: Table<S, G>,
  state: S,
  signal: G,
): S {
  const next = table[state][signal];
  if (next === undefined) {
    throw new LegatoError("unexpected_message", `${signal} is not possible while ${state}`);
  }
  return next;
}
