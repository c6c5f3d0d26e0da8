/** Where the Listen page's audio comes from: a microphone, a file, the sample. */

import { type HeardFrame, Microphone, openRecording, Tape } from "../core/sound/index.ts";
import { settings } from "./address.ts";
import { addressOf } from "./server.ts";
import type { Source } from "./settings.ts";

/** One running source. */
export interface Hearing {
  readonly sampleRate: number;
  /** Hear no more; frames heard before are given until it resolves. */
  stop(): Promise<void>;
}

export interface HearingHandlers {
  /** `live`: it comes as fast as it was spoken, so that it has a moment. */
  readonly onFrame: (frame: HeardFrame, rateHz: number, live: boolean) => void;
  /** A file or the sample has been given whole. */
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Seconds up to which a file is heard as live speech would be, partials and all. */
const LIVE = 60;
/** Seconds from which on a file is more than a client queues at once. */
const AT_ONCE = 590;

/** The sample that the server has is not there. */
export class SampleError extends Error {}

/** Open `source`; call it inside the handler of the click or key. */
export async function hear(
  source: Source,
  file: Blob | undefined,
  deviceId: string | undefined,
  handlers: HearingHandlers,
): Promise<Hearing> {
  if (source === "microphone") return hearMicrophone(deviceId, handlers);
  const blob = source === "sample" ? await sample() : file;
  if (!blob) throw new SampleError("no file");
  const recording = await openRecording(blob);
  const seconds = recording.pcm.length / recording.sampleRate;
  const paced = seconds <= LIVE || seconds >= AT_ONCE;
  const tape = new Tape(recording, {
    frameMs: settings.value.frameMs,
    paced,
    onFrame: (frame) => handlers.onFrame(frame, recording.sampleRate, paced),
    onEnd: handlers.onEnd,
  });
  tape.start();
  return {
    sampleRate: recording.sampleRate,
    stop: async () => tape.stop(),
  };
}

async function hearMicrophone(
  deviceId: string | undefined,
  handlers: HearingHandlers,
): Promise<Hearing> {
  const { frameMs, effects } = settings.value;
  const microphone = new Microphone({
    frameMs,
    echoCancellation: effects,
    noiseSuppression: effects,
    autoGainControl: effects,
    ...(deviceId ? { deviceId } : {}),
    onFrame: (frame) => handlers.onFrame(frame, microphone.sampleRate, true),
    onFailure: handlers.onFailure,
  });
  await microphone.start();
  return microphone;
}

async function sample(): Promise<Blob> {
  const response = await fetch(addressOf("sample.wav"));
  if (!response.ok) throw new SampleError(`${response.status} ${response.statusText}`);
  return response.blob();
}
