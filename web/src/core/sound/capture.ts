/** Frames of 16 bit samples from what a device gives in quanta, without a device. */

import { type Level, Meter } from "./meter.ts";

export interface CapturedFrame {
  readonly pcm: Int16Array;
  /** Position of its first sample. */
  readonly sample: number;
  /** Quanta that the device failed to give since the beginning; silence stands for them. */
  readonly gaps: number;
  readonly level: Level;
}

/** A float sample of -1 to 1 as 16 bits; what is beyond is clipped. */
export function quantised(value: number): number {
  return Math.max(-32768, Math.min(32767, Math.round(value * 32768)));
}

/**
 * Cuts quanta into frames of equal length and keeps count of time: a quantum that is missing by the
 * context's own clock becomes silence, so that later positions stay true, and counts as a gap.
 */
export class Framer {
  readonly #frameSamples: number;
  readonly #meter = new Meter();
  #pcm: Int16Array<ArrayBuffer>;
  #filled = 0;
  #expected: number | null = null;
  /** Samples taken in, silence for gaps included. */
  samples = 0;
  gaps = 0;

  /** @throws RangeError if a frame has no sample. */
  constructor(frameSamples: number) {
    if (!(frameSamples >= 1))
      throw new RangeError(`a frame has 1 sample or more, not ${frameSamples}`);
    this.#frameSamples = frameSamples;
    this.#pcm = new Int16Array(frameSamples);
  }

  /**
   * Take in a quantum.
   *
   * @param quantum What came, or undefined where the device gave nothing; before the first sound
   *   that is no gap.
   * @param at Where the context was at its first sample.
   * @param length Samples of a quantum.
   */
  add(quantum: Float32Array | undefined, at: number, length: number): CapturedFrame[] {
    if (this.#expected === null && quantum === undefined) return [];
    const frames: CapturedFrame[] = [];
    // Chromium runs a node once when it is connected, and again when the device has begun.
    const hasBegun = this.samples > length;
    const skipped = hasBegun ? Math.max(0, at - (this.#expected ?? at)) : 0;
    this.#expected = at + length;
    if (skipped > 0) {
      this.gaps += Math.ceil(skipped / length);
      this.#fill(new Float32Array(skipped), frames);
    }
    if (quantum === undefined && hasBegun) this.gaps += 1;
    this.#fill(quantum ?? new Float32Array(length), frames);
    return frames;
  }

  /** What was taken in and fills no frame yet; nothing may be added after it. */
  rest(): CapturedFrame | null {
    return this.#filled > 0 ? this.#cut() : null;
  }

  #fill(sound: Float32Array, frames: CapturedFrame[]): void {
    let taken = 0;
    while (taken < sound.length) {
      const piece = sound.subarray(taken, taken + this.#frameSamples - this.#filled);
      this.#meter.add(piece);
      for (const value of piece) {
        this.#pcm[this.#filled] = quantised(value);
        this.#filled += 1;
      }
      taken += piece.length;
      this.samples += piece.length;
      if (this.#filled === this.#frameSamples) frames.push(this.#cut());
    }
  }

  #cut(): CapturedFrame {
    const pcm = this.#filled === this.#frameSamples ? this.#pcm : this.#pcm.slice(0, this.#filled);
    const sample = this.samples - this.#filled;
    this.#pcm = new Int16Array(this.#frameSamples);
    this.#filled = 0;
    return { pcm, sample, gaps: this.gaps, level: this.#meter.take() };
  }
}
