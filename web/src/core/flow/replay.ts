/** Replay: what was sent and may have to be sent again. */

import { LegatoError } from "../failure.ts";

interface Kept<T> {
  readonly number: number;
  readonly size: number;
  readonly item: T;
}

/**
 * Sent items in order, until the peer has done with them.
 *
 * Over the bound the oldest items that the peer has *received* are forgotten; one that it has not
 * is never lost.
 */
export class Replay<T> {
  /** Number up to which the peer is known to hold everything, or -1. */
  received = -1;
  /** Size of all that is kept. */
  total = 0;
  readonly #bound: number;
  #items: Kept<T>[] = [];
  #first = 0;
  #forgotten = -1;

  /** @param bound Size kept at the most, beyond what the peer has not received. */
  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Items kept. */
  get length(): number {
    return this.#items.length - this.#first;
  }

  /** Whether everything ever kept is still here. */
  get complete(): boolean {
    return this.#forgotten < 0;
  }

  /** Add an item, numbered above all before it; `size` is in the unit of the bound. */
  keep(number: number, item: T, size: number): void {
    this.#items.push({ number, size, item });
    this.total += size;
    this.#shrink();
  }

  /** Note that the peer holds everything up to `number`. */
  receive(number: number): void {
    if (number > this.received) {
      this.received = number;
      this.#shrink();
    }
  }

  /** Forget everything up to `number`: the peer has done with it. */
  release(number: number): void {
    for (let head = this.#head; head && head.number <= number; head = this.#head) {
      this.#forget(head);
    }
  }

  /** What is kept from `number` on; fails with `resume_gap` if something there was forgotten. */
  since(number: number): T[] {
    if (number <= this.#forgotten) {
      throw new LegatoError(
        "resume_gap",
        `entries ${number} to ${this.#forgotten} are kept no more`,
        { missing: [number, this.#forgotten + 1] },
      );
    }
    const kept = this.#items.slice(this.#first);
    return kept.filter((one) => one.number >= number).map((one) => one.item);
  }

  get #head(): Kept<T> | undefined {
    return this.#items[this.#first];
  }

  #shrink(): void {
    for (
      let head = this.#head;
      this.total > this.#bound && head && head.number <= this.received;
      head = this.#head
    ) {
      this.#forget(head);
    }
  }

  #forget(head: Kept<T>): void {
    this.#forgotten = head.number;
    this.total -= head.size;
    this.#first += 1;
    // An array has no fast shift: what was forgotten goes once it is half of it.
    if (this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
  }
}
