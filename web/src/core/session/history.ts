/** What a client would say again to a server that has lost a stream's history. */

import { type AudioFrame, UNNUMBERED } from "../frame.ts";
import { isAudio, type Said } from "./lane.ts";

/** An entry and the utterance that it belongs to. */
export type Spoken = readonly [utterance: number, item: Said];

/**
 * Keeps what was said until what follows from it is here.
 *
 * Audio is kept until it is done with: for a recognition what the server says is committed, for
 * an echo what has come back. Everything else is kept until the utterance has ended. Credit
 * bounds it all.
 */
export class History {
  /** Samples of up that are done with. */
  doneUpto = 0;
  /** The last utterance of which audio was let go, or -1. */
  passed = -1;
  readonly #sampleBytes: number;
  #items: Spoken[] = [];

  constructor(sampleBytes: number) {
    this.#sampleBytes = sampleBytes;
  }

  /** Note what was said as part of an utterance. */
  keep(utterance: number, item: Said): void {
    this.#items.push([utterance, item]);
  }

  /** Let go of audio before sample `upto`; what ends an utterance stays. */
  done(upto: number): void {
    if (upto <= this.doneUpto) {
      return;
    }
    this.doneUpto = upto;
    const count = leading(this.#items, ([, item]) => this.#isDone(item));
    this.passed = this.#items[count - 1]?.[0] ?? this.passed;
    this.#items.splice(0, count);
  }

  /** Let go of the utterances up to `utterance`. */
  ended(utterance: number): void {
    const isOver = ([number, item]: Spoken): boolean =>
      number <= utterance && (isAudio(item) || item.type !== "stream_end");
    this.#items.splice(0, leading(this.#items, isOver));
  }

  /**
   * What is to be said again, as if it had never been sent.
   *
   * @param spent Position of the next new sample.
   * @returns Position of the first sample of it, and the entries.
   */
  again(spent: number): { sample: number; said: Spoken[] } {
    let first: number | undefined;
    for (const [, item] of this.#items) {
      if (isAudio(item)) {
        this.#cut(item);
        first ??= item.seq === UNNUMBERED ? spent : item.sample;
        item.seq = UNNUMBERED;
      } else {
        delete item.seq;
      }
    }
    return { sample: first ?? spent, said: [...this.#items] };
  }

  #isDone(item: Said): boolean {
    if (!isAudio(item) || item.last || item.seq === UNNUMBERED) {
      return false;
    }
    return item.sample + Math.floor(item.payload.length / this.#sampleBytes) <= this.doneUpto;
  }

  /** Leave out of a frame that was sent what is done with. */
  #cut(frame: AudioFrame): void {
    const over = this.doneUpto - frame.sample;
    if (frame.seq !== UNNUMBERED && over > 0) {
      const cut = Math.min(over * this.#sampleBytes, frame.payload.length);
      frame.payload = frame.payload.subarray(cut);
      frame.sample += Math.floor(cut / this.#sampleBytes);
    }
  }
}

/** How many items at the beginning are so. */
function leading<T>(items: readonly T[], isSo: (item: T) => boolean): number {
  const end = items.findIndex((item) => !isSo(item));
  return end < 0 ? items.length : end;
}
