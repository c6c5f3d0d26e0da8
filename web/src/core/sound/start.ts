/**
 * When to begin to play: as late as recent utterances needed for playing without a gap.
 *
 * The same method as `legato/flow/start.py`, which says where it and its constants come from; both
 * give the same numbers for `tests/vectors/start.json`. Playing slower while the buffer is low
 * (WSOLA time stretching) is left out: it alters the sound for little.
 */

/** Share of utterances that may need a later start: where waiting plus stalls cost the least. */
export const RISK = 0.2;
/** For listeners who mind a gap more than a wait. */
export const CAREFUL_RISK = 0.1;
/** Weight of what is known when another utterance is added. */
const MEMORY = 0.93;
/** Utterances that the first guess counts for. */
const PRIOR_WEIGHT = 2;
/** Seconds of the first guess where the server sends ahead of the listener. */
const LEAD_START = 0.06;
/** Seconds of the first guess, and a round trip, where it sends at the pace of speech. */
const PACED_START = 0.08;
/** Bounds of the start in seconds. */
const LEAST_START = 0.06;
const MOST_START = 1.2;
/** Seconds that one utterance counts for at the most. */
const MOST_DELAY = 2;
/** Seconds of arrivals from which their rate is believed. */
const RATE_AFTER = 0.25;
/** Seconds of audio per second that count as keeping up. */
const ENOUGH_RATE = 0.97;
/** Seconds still to come that a slow link is held back for, at the most. */
const MOST_REMAINING = 3;

/** What the arrivals of one utterance tell; positions are samples at `sampleRate` Hz. */
export class Arrivals {
  readonly #sampleRate: number;
  #first: { now: number; sample: number } | null = null;
  /** Seconds that the utterance should have been held back to play without a gap so far. */
  requiredDelay = 0;
  /** Seconds of audio that came in a second, infinite until 0.25 s after the first frame. */
  rate = Number.POSITIVE_INFINITY;

  constructor(sampleRate: number) {
    this.#sampleRate = sampleRate;
  }

  /** The frame that begins at position `sample` came at `now`, monotonic seconds. */
  add(sample: number, now: number): void {
    if (this.#first === null) {
      this.#first = { now, sample };
      this.requiredDelay = 0;
      this.rate = Number.POSITIVE_INFINITY;
      return;
    }
    const waited = now - this.#first.now;
    const audio = (sample - this.#first.sample) / this.#sampleRate;
    this.requiredDelay = Math.max(this.requiredDelay, waited - audio);
    if (waited >= RATE_AFTER) this.rate = Math.max(audio, 0) / waited;
  }

  /** The utterance ended; what is known of it stays until the next one begins. */
  finish(): void {
    this.#first = null;
  }
}

export interface StartOptions {
  /** Whether the server sends ahead of the listener. */
  readonly lead?: boolean;
  /** Seconds, of the first guess where it does not. */
  readonly roundTrip?: number;
  /** Share of utterances that may need more, above 0 and below 1. */
  readonly risk?: number;
}

/** How much audio to hold before playing, learned from the utterances before. */
export class AdaptiveStart {
  readonly #caution: number;
  readonly #prior: number;
  #delays = 0;
  #count = 0;

  /** @throws RangeError if `risk` or `roundTrip` is out of range. */
  constructor({ lead = false, roundTrip = 0, risk = RISK }: StartOptions = {}) {
    if (!(risk > 0 && risk < 1)) throw new RangeError(`risk must be between 0 and 1, not ${risk}`);
    if (!(roundTrip >= 0 && roundTrip < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`roundTrip must be 0 seconds or more, not ${roundTrip}`);
    }
    this.#caution = Math.log(1 / risk);
    this.#prior = lead ? LEAD_START : PACED_START + roundTrip;
  }

  /** An utterance ended that would have needed a start so many seconds later than its arrival. */
  learn(requiredDelay: number): void {
    this.#delays = MEMORY * this.#delays + Math.min(Math.max(requiredDelay, 0), MOST_DELAY);
    this.#count = MEMORY * this.#count + 1;
  }

  /**
   * Seconds of audio to hold before playing.
   *
   * @param rate Seconds of audio that come in a second; what a slow link will fall behind by the
   *   end of the utterance is held as well.
   * @param remaining Seconds of the utterance that are still to come, if known.
   */
  depth(rate = Number.POSITIVE_INFINITY, remaining = Number.POSITIVE_INFINITY): number {
    const known = PRIOR_WEIGHT * this.#prior + this.#caution * this.#delays;
    const mean = known / (PRIOR_WEIGHT + this.#count);
    const start = Math.min(Math.max(mean, LEAST_START), MOST_START);
    const shortfall = Math.max(0, ENOUGH_RATE - rate);
    return start + shortfall * Math.min(Math.max(remaining, 0), MOST_REMAINING);
  }
}
