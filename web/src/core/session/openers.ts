/** Cancelling what was not sent: which entries go, and what the server is told in their place. */

import { AudioFrame, UNNUMBERED } from "../frame.ts";
import type { Cancel, Text } from "../messages.ts";
import type { Spoken } from "./history.ts";
import { isAudio, type Said } from "./lane.ts";

type Opener = AudioFrame | Text;

/**
 * The first entries of utterances, as far as they were not sent.
 *
 * The server numbers utterances by what it gets: of one that is cancelled before any of it was
 * sent, an empty piece tells that it was there.
 */
export class Openers {
  #openers: [utterance: number, item: Opener][] = [];

  /** Note what opens an utterance. */
  note(utterance: number, item: Opener): void {
    this.#forgetSent();
    this.#openers.push([utterance, item]);
  }

  /** Begin anew with entries of which none was sent. */
  restore(said: readonly Spoken[]): void {
    this.#openers = [];
    for (const [utterance, item] of said) {
      const isFirst = this.#openers.at(-1)?.[0] !== utterance;
      if (isFirst && (isAudio(item) || item.type === "text")) {
        this.#openers.push([utterance, item]);
      }
    }
  }

  /** What tells the server of a cancel, when the unsent of it has left the queue. */
  wordsOfCancel(upto: number, stream: number): { words: Said[]; last: Cancel } {
    this.#forgetSent();
    const cancel = (utterance: number): Cancel => ({ type: "cancel", stream, utterance });
    const unsent = this.#openers.filter(([number]) => number <= upto);
    const first = Math.min(upto + 1, ...unsent.map(([number]) => number));
    const words: Said[] = first > 0 ? [cancel(first - 1)] : [];
    for (const entry of unsent) {
      const [utterance, opener] = entry;
      const empty: Opener = isAudio(opener)
        ? new AudioFrame(new Uint8Array(0), { seq: UNNUMBERED, last: true, utterance })
        : { type: "text", stream, text: "" };
      entry[1] = empty;
      words.push(empty, cancel(utterance));
    }
    const last = words.pop();
    if (!last || isAudio(last) || last.type !== "cancel") {
      throw new Error("an utterance below 0 was cancelled");
    }
    return { words, last };
  }

  #forgetSent(): void {
    while (isSent(this.#openers[0]?.[1])) {
      this.#openers.shift();
    }
  }
}

function isSent(item: Opener | undefined): boolean {
  return item?.seq !== undefined && item.seq !== UNNUMBERED;
}

/**
 * Returns what tells which queued entries belong to cancelled utterances, asked from the last to
 * the first.
 *
 * Text and marks do not say which utterance is theirs; counting back its ends from the one that
 * is being said does.
 */
export function unsaid(saying: number, cancelled: number): (item: Said) => boolean {
  let utterance = saying;
  return (item) => {
    const type = isAudio(item) ? "audio" : item.type;
    if (type === "cancel") {
      utterance = -1; // an older cancel, which the new one includes, and what it ended
    } else if (type === "finalize" || (isAudio(item) && item.last)) {
      utterance -= 1;
    }
    return utterance <= cancelled && type !== "stream_end";
  };
}
