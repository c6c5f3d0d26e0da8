/** How long to wait before the next attempt to connect. */

import { LegatoError } from "../failure.ts";

/** How delays grow from attempt to attempt. */
export interface Profile {
  /** Ceiling of the first delay in seconds; it doubles with each attempt. */
  readonly base: number;
  /** Seconds above which the ceiling does not grow. */
  readonly cap: number;
  /** Seconds of trouble after which `patientCap` replaces `cap`. */
  readonly patientAfter: number;
  readonly patientCap: number;
  /** Attempts after which to give up. */
  readonly tries: number;
  /**
   * Absent, the whole delay is drawn, from 0 to the ceiling ("full jitter"); a number makes the
   * delay the ceiling and up to this share of it.
   */
  readonly spread?: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/** How the names of `reconnect` grow; the numbers are those of the Python client. */
export const PROFILES = {
  interactive: { base: 0.25, cap: 1, patientAfter: 15, patientCap: 8, tries: NEVER },
  articles: { base: 1, cap: 60, patientAfter: NEVER, patientCap: NEVER, tries: 10, spread: 0.1 },
} as const satisfies Record<string, Profile>;

/** Delays between attempts, until one succeeds. */
export class Backoff {
  /** Delays handed out since the last success. */
  attempts = 0;
  readonly #profile: Profile;
  readonly #random: () => number;
  #since: number | undefined;

  /** @param random Returns a number in [0, 1). */
  constructor(profile: Profile, random: () => number) {
    this.#profile = profile;
    this.#random = random;
  }

  /** Whether the profile allows no further attempt. */
  get isExhausted(): boolean {
    return this.attempts >= this.#profile.tries;
  }

  /**
   * Seconds to wait before the next attempt.
   *
   * @param now The instant of the failure; the first since a success starts the trouble.
   * @param retryAfter Seconds that the server asked for; the delay is added to them, so that
   *   clients who were told the same do not come back together.
   */
  nextDelay(now: number, retryAfter = 0): number {
    if (this.isExhausted) {
      throw new LegatoError("connection_lost", `gave up after ${this.attempts} attempts`);
    }
    this.#since ??= now;
    const { base, cap, patientAfter, patientCap, spread } = this.#profile;
    const most = now - this.#since >= patientAfter ? patientCap : cap;
    const ceiling = Math.min(most, base * 2 ** Math.min(this.attempts, 64));
    this.attempts += 1;
    const share = this.#random();
    const delay = ceiling * (spread === undefined ? share : 1 + share * spread);
    return delay + Math.max(0, retryAfter);
  }

  /** Start over after a success. */
  reset(): void {
    this.attempts = 0;
    this.#since = undefined;
  }
}
