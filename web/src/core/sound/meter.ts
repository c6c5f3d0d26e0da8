/** How loud it is, and how a waveform looks. */

/** Of a stretch of sound, 0 to 1 of full scale. */
export interface Level {
  /** Root mean square. */
  readonly rms: number;
  readonly peak: number;
}

export const SILENCE: Level = { rms: 0, peak: 0 };

/** Decibels that a peak falls in a second, so that a meter of few pictures shows each. */
const FALL = 20;

/** What a meter shows `seconds` after it showed `before`, for a sound of level `now`. */
export function metered(before: Level, now: Level, seconds: number): Level {
  const fallen = before.peak * 10 ** ((-FALL / 20) * seconds);
  return { rms: now.rms, peak: Math.max(now.peak, fallen) };
}

/** Level of all that was added since it was taken. */
export class Meter {
  #power = 0;
  #peak = 0;
  #samples = 0;

  add(sound: Float32Array): void {
    for (const value of sound) {
      this.#power += value * value;
      this.#peak = Math.max(this.#peak, Math.abs(value));
    }
    this.#samples += sound.length;
  }

  take(): Level {
    if (this.#samples === 0) return SILENCE;
    const level = { rms: Math.sqrt(this.#power / this.#samples), peak: this.#peak };
    this.#power = 0;
    this.#peak = 0;
    this.#samples = 0;
    return level;
  }
}
