/** What is told of messages and frames that pass. */

import type { Traffic } from "./api.ts";
import { AudioFrame } from "./frame.ts";
import type { Message } from "./messages.ts";
import type { Stream } from "./session/stream.ts";

/** What is told of a message or frame: neither a key nor audio. */
export function shown(
  entry: Message | AudioFrame,
  streams: ReadonlyMap<number, Stream>,
): Pick<Traffic, "message" | "audio"> {
  if (entry instanceof AudioFrame) {
    const { stream, seq, sample, utterance, last, payload } = entry;
    const samples = payload.length / (streams.get(stream)?.sampleBytes ?? 2);
    return { audio: { stream, seq, sample, samples, utterance, last } };
  }
  if (entry.type === "hello") {
    const { auth: _, ...rest } = entry;
    return { message: rest };
  }
  return { message: entry };
}

/** Bytes of a message on the wire. */
export function sizeOf(data: string | ArrayBuffer | Uint8Array): number {
  return typeof data === "string" ? new TextEncoder().encode(data).length : data.byteLength;
}
