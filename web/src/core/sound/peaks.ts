/** Least and greatest values of stretches of samples: what a waveform draws. */

/** Stretches kept at the most; beyond, two become one. */
const MOST_BINS = 4096;

/** Takes samples as they come and stays small however long it gets. */
export class Peaks {
  #lows: number[] = [];
  #highs: number[] = [];
  #inLast = 0;
  /** Samples of one stretch; doubles where there would be too many. */
  binSamples: number;
  samples = 0;

  /** @param binSamples Samples of one stretch to begin with, 1 or more. */
  constructor(binSamples = 256) {
    this.binSamples = binSamples;
  }

  /** Least and greatest value of each stretch, -1 to 1; the last one may be filling still. */
  get bins(): { readonly lows: readonly number[]; readonly highs: readonly number[] } {
    return { lows: this.#lows, highs: this.#highs };
  }

  add(pcm: Int16Array): void {
    for (const value of pcm) {
      if (this.#inLast === 0) this.#open();
      const last = this.#lows.length - 1;
      const level = value / 32768;
      this.#lows[last] = Math.min(this.#lows[last] ?? 1, level);
      this.#highs[last] = Math.max(this.#highs[last] ?? -1, level);
      this.#inLast = (this.#inLast + 1) % this.binSamples;
    }
    this.samples += pcm.length;
  }

  /**
   * The same in `columns` stretches of equal length, for a canvas of so many pixels.
   *
   * @returns Least and greatest value in turns; 0 where there is nothing yet.
   */
  columns(columns: number): Float32Array {
    const out = new Float32Array(columns * 2);
    const count = this.#lows.length;
    for (let column = 0; column < columns; column += 1) {
      const from = Math.floor((column * count) / columns);
      const upto = Math.max(from + 1, Math.floor(((column + 1) * count) / columns));
      if (from >= count) break;
      out[column * 2] = Math.min(...this.#lows.slice(from, upto));
      out[column * 2 + 1] = Math.max(...this.#highs.slice(from, upto));
    }
    return out;
  }

  #open(): void {
    if (this.#lows.length >= MOST_BINS) this.#halve();
    this.#lows.push(1);
    this.#highs.push(-1);
  }

  #halve(): void {
    const pairs = (all: number[], of: (a: number, b: number) => number) =>
      all.filter((_, at) => at % 2 === 0).map((value, at) => of(value, all[at * 2 + 1] ?? value));
    this.#lows = pairs(this.#lows, Math.min);
    this.#highs = pairs(this.#highs, Math.max);
    this.binSamples *= 2;
  }
}
