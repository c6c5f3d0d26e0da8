/** A file of the user, or a built-in sample, to be listened to like a microphone. */

import { quantised } from "./capture.ts";
import { monotonic } from "./context.ts";
import { SoundError } from "./failure.ts";
import { Meter } from "./meter.ts";
import { type HeardFrame, MOST_RATE } from "./microphone.ts";
import { fileRate, readWav } from "./wav.ts";

/** Hz at which files are opened that do not say theirs where we can read it. */
const OTHER_RATE = 48_000;
/** Hz that a server takes at the least, and every browser can open files at (Web Audio API 1.0). */
const LEAST_RATE = 8_000;

export interface Recording {
  /** One channel. */
  readonly pcm: Int16Array;
  /** Hz. */
  readonly sampleRate: number;
}

/**
 * Open a file as one channel at its own rate, or at the nearest that a server takes.
 *
 * @throws SoundError `unreadable_file` if the browser cannot play it.
 */
export async function openRecording(file: Blob): Promise<Recording> {
  const bytes = await file.arrayBuffer();
  const wav = readWav(new Uint8Array(bytes));
  const rate = wav?.sampleRate ?? fileRate(new Uint8Array(bytes)) ?? OTHER_RATE;
  const sampleRate = Math.min(Math.max(rate, LEAST_RATE), MOST_RATE);
  if (wav?.sampleRate === sampleRate) return wav;
  const context = new OfflineAudioContext(1, 1, sampleRate);
  const buffer = await context.decodeAudioData(bytes).catch((error: unknown) => {
    throw new SoundError("unreadable_file", "This browser cannot read the file.", error);
  });
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, channel) =>
    buffer.getChannelData(channel),
  );
  return { pcm: mixed(channels), sampleRate: buffer.sampleRate };
}

/** The mean of channels, as 16 bits. */
export function mixed(channels: readonly Float32Array[]): Int16Array {
  const pcm = new Int16Array(channels[0]?.length ?? 0);
  for (let at = 0; at < pcm.length; at += 1) {
    let sum = 0;
    for (const channel of channels) sum += channel[at] ?? 0;
    pcm[at] = quantised(sum / channels.length);
  }
  return pcm;
}

/** Frames of `frameSamples` samples; the last one may be shorter. */
export function* framesOf(pcm: Int16Array, frameSamples: number): Generator<HeardFrame> {
  const meter = new Meter();
  for (let sample = 0; sample < pcm.length; sample += frameSamples) {
    const frame = pcm.slice(sample, sample + frameSamples);
    meter.add(Float32Array.from(frame, (value) => value / 32768));
    yield { pcm: frame, sample, level: meter.take(), now: monotonic() };
  }
}

export interface TapeOptions {
  /** Milliseconds of a frame, 20 by default. */
  readonly frameMs?: number;
  /** As fast as it was spoken, the default, or at once. */
  readonly paced?: boolean;
  readonly onFrame?: (frame: HeardFrame) => void;
  /** All of it was given. */
  readonly onEnd?: () => void;
}

/**
 * Gives a recording as a microphone would. Frames are due by the clock, not by the number of timer
 * ticks: a hidden tab, whose timers come once a second, gives all that became due at once.
 */
export class Tape {
  readonly #frames: Generator<HeardFrame>;
  readonly #options: TapeOptions;
  readonly #frameSeconds: number;
  readonly #sampleRate: number;
  #timer: ReturnType<typeof setInterval> | null = null;
  #next: IteratorResult<HeardFrame> | null = null;

  constructor({ pcm, sampleRate }: Recording, options: TapeOptions = {}) {
    const frameSamples = Math.round((sampleRate * (options.frameMs ?? 20)) / 1000);
    this.#frames = framesOf(pcm, frameSamples);
    this.#frameSeconds = frameSamples / sampleRate;
    this.#sampleRate = sampleRate;
    this.#options = options;
  }

  start(): void {
    const began = monotonic();
    const paced = this.#options.paced ?? true;
    const give = () => this.#give(paced ? monotonic() - began : Number.POSITIVE_INFINITY);
    this.#timer = setInterval(give, this.#frameSeconds * 1000);
    give();
  }

  /** Give no more; `onEnd` is not called. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Give all frames that would have been spoken after so many seconds. */
  #give(elapsed: number): void {
    while (this.#timer !== null) {
      this.#next ??= this.#frames.next();
      if (this.#next.done) {
        this.stop();
        this.#options.onEnd?.();
        return;
      }
      const frame = this.#next.value;
      if ((frame.sample + frame.pcm.length) / this.#sampleRate > elapsed) return;
      this.#next = null;
      this.#options.onFrame?.({ ...frame, now: monotonic() });
    }
  }
}
