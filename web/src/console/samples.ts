/** The last minute of a number, for a chart. */

export interface Points {
  /** Seconds, ascending. */
  readonly times: readonly number[];
  readonly values: readonly number[];
}

/** Values with their instants, of which the last `span` seconds and `limit` values are kept. */
export class History {
  readonly #times: number[] = [];
  readonly #values: number[] = [];
  readonly #span: number;
  readonly #limit: number;

  constructor(span = 60, limit = 1200) {
    this.#span = span;
    this.#limit = limit;
  }

  push(now: number, value: number): void {
    this.#times.push(now);
    this.#values.push(value);
    const first = this.#times.findIndex((time) => time >= now - this.#span);
    const surplus = Math.max(first, this.#times.length - this.#limit);
    if (surplus > 0) {
      this.#times.splice(0, surplus);
      this.#values.splice(0, surplus);
    }
  }

  get points(): Points {
    return { times: this.#times, values: this.#values };
  }
}
