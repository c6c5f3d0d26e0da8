/** The log of this page, shown a few times a second however much passes. */

import { signal } from "@preact/signals";
import type { Traffic } from "../core/api.ts";
import { next } from "./clock.ts";
import { EMPTY, type Log, record } from "./events.ts";
import { bytesDown, bytesUp } from "./measures.ts";

/** Seconds between two looks of the page at the log. */
const SHOW_EVERY = 0.2;

export const shown = signal<Log>(EMPTY);
let log: Log = EMPTY;
let up = 0;
let down = 0;
let due: (() => void) | undefined;

/** Put `traffic` into the log and the byte counts. */
export function note(traffic: Traffic): void {
  log = record(log, traffic);
  if (traffic.direction === "up") up += traffic.sizeBytes;
  else down += traffic.sizeBytes;
  due ??= next(SHOW_EVERY, show);
}

/** Forget all rows; the byte counts go on. */
export function clearLog(): void {
  log = { ...EMPTY, next: log.next };
  show();
}

function show(): void {
  due?.();
  due = undefined;
  shown.value = log;
  bytesUp.value = up;
  bytesDown.value = down;
}
