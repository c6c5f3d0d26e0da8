/** How fast a sender may go: a token bucket. */

/** A bucket that takes longer than this many seconds to fill counts as stopped. */
const NEVER = 1e9;

/**
 * Limits a flow to `rate` units per second on average and `burst` at once.
 *
 * Keeps one number, when the bucket was empty, so that `take` and `readyAt` cannot disagree
 * through rounding (GCRA, ITU-T I.371). A rate of 0 stops the flow.
 */
export class TokenBucket {
  #rate: number;
  readonly #burst: number;
  #emptyAt = Number.NEGATIVE_INFINITY;
  #held: number;

  constructor(rate: number, burst: number) {
    this.#burst = burst;
    this.#held = burst;
    this.#rate = this.#checked(rate);
  }

  /** How much may be sent at once now. */
  available(now: number): number {
    return this.#rate === 0
      ? this.#held
      : Math.min(this.#burst, (now - this.#emptyAt) * this.#rate);
  }

  /** The earliest instant, at or after `now`, at which `size` may be sent; never while stopped. */
  readyAt(size: number, now: number): number {
    return this.#rate === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(now, this.#emptyAt + size / this.#rate);
  }

  /** Send `size`, at most `burst`, now if it may be sent. */
  take(size: number, now: number): boolean {
    if (this.#rate === 0) {
      return false;
    }
    const cost = size / this.#rate;
    if (now < this.#emptyAt + cost) {
      return false;
    }
    this.#emptyAt = Math.max(this.#emptyAt, now - this.#burst / this.#rate) + cost;
    return true;
  }

  /** Refill at another rate from now on; what is in the bucket stays in it. */
  setRate(rate: number, now: number): void {
    const checked = this.#checked(rate);
    this.#held = this.available(now);
    this.#rate = checked;
    this.#emptyAt = checked ? now - this.#held / checked : now;
  }

  #checked(rate: number): number {
    return this.#burst <= rate * NEVER ? rate : 0;
  }
}
