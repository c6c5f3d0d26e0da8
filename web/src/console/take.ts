/** The audio of one stream as it came, for the waveform and the download. */

import { Peaks } from "../core/sound/peaks.ts";

/** Seconds that are kept; a longer stream plays on, but the download ends there. */
export const KEPT = 600;

export class Take {
  readonly rateHz: number;
  readonly peaks = new Peaks();
  readonly #pieces: Int16Array[] = [];
  #kept = 0;

  constructor(rateHz: number) {
    this.rateHz = rateHz;
  }

  /** Seconds that came. */
  get seconds(): number {
    return this.peaks.samples / this.rateHz;
  }

  /** Whether some of it is not kept. */
  get truncated(): boolean {
    return this.#kept < this.peaks.samples;
  }

  /** What is kept, in order. */
  get pieces(): readonly Int16Array[] {
    return this.#pieces;
  }

  add(pcm: Int16Array): void {
    const fits = !this.truncated && this.#kept + pcm.length <= KEPT * this.rateHz;
    this.peaks.add(pcm);
    if (!fits) return;
    this.#pieces.push(pcm);
    this.#kept += pcm.length;
  }
}

const SPANS = [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024] as const;

/** Seconds that a waveform of `seconds` shows: it grows in steps, so that it stands still between. */
export function span(seconds: number): number {
  return SPANS.find((size) => size >= seconds) ?? seconds;
}
