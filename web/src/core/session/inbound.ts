/** The receiving half of a lane: order. */

import { LegatoError } from "../failure.ts";
import { type Item, isAudio } from "./lane.ts";

/** What became of an entry; `gap` is told to the peer, `dropped` was told already. */
export type Verdict = "delivered" | "duplicate" | "gap" | "dropped";

/** Delivers every number once and in order. */
export class Inbound {
  /** The number that comes next. */
  expected = 0;
  /** Entries in order, for the session to take. */
  ready: Item[] = [];
  /** Whether the peer said that it has no more input. */
  ended = false;
  #gapTold = false;

  /** Take an arrived entry; fails if the peer had ended its input. */
  accept(seq: number, item: Item): Verdict {
    if (seq === this.expected) {
      this.#note(item);
      this.ready.push(item);
      this.expected = seq + 1;
      this.#gapTold = false;
      return "delivered";
    }
    if (seq < this.expected) {
      return "duplicate";
    }
    if (this.#gapTold) {
      return "dropped";
    }
    this.#gapTold = true;
    return "gap";
  }

  /** Note that numbers from `start` up to, not including, `end` never come: it is no loss. */
  skip(start: number, end: number): void {
    if (start === this.expected) {
      this.expected = Math.max(start, end);
    }
  }

  /** Let the next gap be told again, after the peer was asked to rewind. */
  forgetGap(): void {
    this.#gapTold = false;
  }

  #note(item: Item): void {
    if (this.ended) {
      throw new LegatoError("unexpected_message", "nothing may follow stream_end");
    }
    this.ended = !isAudio(item) && item.type === "stream_end";
  }
}
