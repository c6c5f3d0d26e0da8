/** What travels on a stream's lane: numbers, order, credit, pace and replay are its matter. */

import { AudioFrame } from "../frame.ts";
import type {
  Cancel,
  Finalize,
  Flush,
  NumberedMessage,
  StreamEnd,
  Text,
  Transcript,
} from "../messages.ts";

/** An entry of a stream's ordered history. */
export type Item = AudioFrame | NumberedMessage;

/** An entry of what a client says. */
export type Said = AudioFrame | Text | Flush | Finalize | Cancel | StreamEnd;

/** The instant that never comes. */
export const NEVER = Number.POSITIVE_INFINITY;

/** Whether an entry is audio. */
export function isAudio(item: Item): item is AudioFrame {
  return item instanceof AudioFrame;
}

/** Whether an entry is a transcript that never changes. */
export function isFinal(item: Item): item is Transcript {
  return !isAudio(item) && item.type === "transcript" && item.kind === "final";
}

const LOW_SURROGATE = /[\uDC00-\uDFFF]/g;

/** Characters as the server counts them: a pair of surrogates is one. */
export function countChars(text: string): number {
  return text.length - (text.match(LOW_SURROGATE)?.length ?? 0);
}
