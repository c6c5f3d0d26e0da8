/** When each sample was heard, to tell how long its text took. */

/** How many frames are remembered: a minute of 20 ms. */
const REMEMBERED = 3000;

export class Moments {
  #uptos: number[] = [];
  #instants: number[] = [];

  /** The samples before `upto` had been heard at `now`. */
  note(upto: number, now: number): void {
    this.#uptos.push(upto);
    this.#instants.push(now);
    if (this.#uptos.length < 2 * REMEMBERED) return;
    this.#uptos = this.#uptos.slice(-REMEMBERED);
    this.#instants = this.#instants.slice(-REMEMBERED);
  }

  /** When the samples before `upto` had been heard; undefined if that is too long ago. */
  at(upto: number): number | undefined {
    let low = 0;
    let high = this.#uptos.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#uptos[middle] ?? 0) < upto) low = middle + 1;
      else high = middle;
    }
    if (low === 0 && (this.#uptos[0] ?? 0) > upto) return undefined;
    return this.#instants[Math.min(low, this.#instants.length - 1)];
  }
}
