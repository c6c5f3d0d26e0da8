/** How a lost connection is sought again: when, for how long, and what is said in the end. */

import type { Dial } from "./dialing.ts";
import { LegatoError } from "./failure.ts";
import { Backoff, type Profile } from "./flow/backoff.ts";
import { NEVER } from "./session/lane.ts";

/** Seconds beyond the server's window: it may have noticed the loss later than we did. */
const GRACE = 5;

/** Seconds that an attempt gets at the least. */
const QUICKEST = 0.5;

/** How many times longer than the first dial one may take before it is given up, at first. */
const SLOWER = 8;

/** Share of the time of trouble that an attempt gets, so that a slow network is not given up. */
const PATIENCE = 0.25;

/**
 * One connection's search for the next socket.
 *
 * A time of trouble begins at `begin` and lasts until `end`. Attempts in it wait as the profile
 * says, from the beginning of the one before: an attempt that nobody answered has waited already.
 */
export class Recovery {
  /** When the trouble began, or never. */
  since = NEVER;
  /** When it is over for good, or never. */
  until = NEVER;
  /** What began it, or went wrong last. */
  cause: LegatoError | undefined;
  readonly #dialOnce: Dial;
  readonly #backoff: Backoff;
  readonly #now: () => number;
  #took = NEVER;
  #retryAfter: number | undefined;

  constructor(options: { dial: Dial; profile: Profile; random: () => number; now: () => number }) {
    this.#dialOnce = options.dial;
    this.#backoff = new Backoff(options.profile, options.random);
    this.#now = options.now;
  }

  /** Whether there is trouble. */
  get underWay(): boolean {
    return this.since < NEVER;
  }

  /** Open the first socket; how long that takes tells what to expect of later ones. */
  async dial(patience: number, signal: AbortSignal): Promise<WebSocket> {
    const began = this.#now();
    const socket = await this.#dialOnce(patience, signal);
    this.#took = this.#now() - began;
    return socket;
  }

  /**
   * There is trouble; if there was already, only the cause is news.
   *
   * @param window Seconds that the server keeps the streams; endless while it still has the old
   *   connection.
   */
  begin(cause: LegatoError, window: number): void {
    this.cause = cause;
    this.#retryAfter = cause.retryAfter;
    if (!this.underWay) {
      this.since = this.#now();
    }
    this.until = Math.min(this.until, this.#now() + window + GRACE);
  }

  /** The streams go on. */
  end(): void {
    this.since = NEVER;
    this.until = NEVER;
    this.cause = undefined;
    this.#backoff.reset();
  }

  /** The next socket, after as many attempts as it takes; fails when time or tries are over. */
  async redial(signal: AbortSignal): Promise<WebSocket> {
    let began = this.#now();
    for (;;) {
      await sleep(this.#delay(began), signal);
      began = this.#now();
      try {
        return await this.#dialOnce(this.#patience(began), signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof LegatoError)) {
          throw error;
        }
        this.cause = error;
      }
    }
  }

  /** What the streams are told when it is over. */
  givenUp(): LegatoError {
    const tries = this.#backoff.attempts;
    const trouble = (this.#now() - this.since).toFixed(1);
    return new LegatoError(
      "connection_lost",
      `the connection was lost and not regained in ${trouble} s and ${tries} ${
        tries === 1 ? "try" : "tries"
      }: ${this.cause?.message}`,
      { cause: this.cause },
    );
  }

  /** Seconds until the turn of the next attempt; the one before began at `began`. */
  #delay(began: number): number {
    const now = this.#now();
    const asked = this.#retryAfter;
    if (this.#backoff.isExhausted || now + (asked ?? 0) >= this.until) {
      throw this.givenUp();
    }
    const delay = this.#backoff.nextDelay(now, asked);
    this.#retryAfter = undefined;
    return Math.min(asked === undefined ? delay - (now - began) : delay, this.until - now);
  }

  /** Seconds that an attempt gets: few at first, for its packets may be lost. */
  #patience(now: number): number {
    const expected = this.#took === NEVER ? QUICKEST : Math.max(QUICKEST, SLOWER * this.#took);
    const left = Math.max(QUICKEST, this.until - now);
    return Math.min(Math.max(expected, PATIENCE * (now - this.since)), left);
  }
}

/** Wait; fails when the signal comes. */
function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(new LegatoError("connection_lost", "nobody waits for it any more"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, Math.max(0, seconds) * 1000);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) {
      abort();
    }
  });
}
