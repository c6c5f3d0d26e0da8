/** The numbers of the narrow column, and their last minute. */

import { signal } from "@preact/signals";
import type { StreamTotals } from "../core/api.ts";
import { monotonic } from "../core/sound/context.ts";
import { History } from "./samples.ts";

/** What a direction of a stream added up to. */
export interface Totals {
  readonly frames: number;
  readonly samples: number;
  /** Digest chain over the payloads, as this page counted; hex. */
  readonly ours: string;
  /** As the server said; undefined where it compared by itself, and refuses what differs. */
  readonly theirs?: string;
}

/** Whether the two ends have the same: known only when both have counted to the end. */
export interface Comparison {
  readonly state: "none" | "pending" | "equal" | "different" | "stopped";
  /** Breaks that the stream went through. */
  readonly breaks: number;
  readonly totals?: Totals;
  /** Samples that neither side keeps any more. */
  readonly lost: number;
}

const UNCOMPARED: Comparison = { state: "none", breaks: 0, lost: 0 };

export const roundTrip = signal<number | undefined>(undefined);
export const firstAudio = signal<number | undefined>(undefined);
export const audible = signal<number | undefined>(undefined);
export const partialLatency = signal<number | undefined>(undefined);
export const finalLatency = signal<number | undefined>(undefined);
/** Seconds; undefined while nothing plays. */
export const buffered = signal<number | undefined>(undefined);
export const stalls = signal(0);
export const bytesUp = signal(0);
export const bytesDown = signal(0);
export const resumes = signal(0);
export const comparison = signal<Comparison>(UNCOMPARED);

export const histories = {
  roundTrip: new History(),
  buffer: new History(),
  partial: new History(),
  final: new History(),
} as const;

/** Seconds of the clock of all instants here, those of the sound included. */
export const now = monotonic;

/** A stream begins: what the last one's digests said no longer holds. */
export function beginComparison(): void {
  comparison.value = { ...UNCOMPARED, state: "pending" };
}

/** The running stream was broken; what its digests say will count more. */
export function countBreak(): void {
  const { state, breaks, ...rest } = comparison.value;
  if (state === "pending") comparison.value = { ...rest, state, breaks: breaks + 1 };
}

/** The server found that it did not get what was sent. */
export function failComparison(): void {
  const { breaks, lost } = comparison.value;
  comparison.value = { state: "different", breaks, lost };
}

/** A part [from, to) is gone for good. */
export function countLost([from, to]: readonly [number, number]): void {
  comparison.value = { ...comparison.value, lost: comparison.value.lost + (to - from) };
}

/** What came down, both counts of it. */
export function downTotals({ frames, samples, digest }: StreamTotals): Totals {
  return { frames, samples, ours: digest.ours, theirs: digest.theirs };
}

/** What went up: a stream whose server counted something else fails with `bad_audio`. */
export function upTotals({ up }: StreamTotals): Totals {
  return { frames: up.frames, samples: up.samples, ours: up.digest };
}

/** The stream ended with `totals`; without, it was stopped and nothing can be compared. */
export function endComparison(totals?: Totals): void {
  const { breaks, lost } = comparison.value;
  if (!totals) {
    comparison.value = { state: "stopped", breaks, lost };
    return;
  }
  const { ours, theirs = ours } = totals;
  const equal = ours === theirs && lost === 0;
  comparison.value = { state: equal ? "equal" : "different", breaks, lost, totals };
}

/** Note a latency in its number and its history. */
export function noteLatency(kind: "partial" | "final", seconds: number): void {
  (kind === "partial" ? partialLatency : finalLatency).value = seconds;
  histories[kind].push(now(), seconds);
}
