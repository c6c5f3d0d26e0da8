/** Credit: how far a sender may run ahead of its reader. */

/** The sender's side: what was granted and what is spent, from the stream's start. */
export class Credit {
  /** Where to stop. */
  limit = Number.POSITIVE_INFINITY;
  /** Where the sender is. */
  spent = 0;

  /** Raise the limit; a lower one than before is old news and changes nothing. */
  grant(limit: number | undefined): void {
    if (limit !== undefined && (this.limit === Number.POSITIVE_INFINITY || limit > this.limit)) {
      this.limit = limit;
    }
  }

  /** Whether the sender may go on up to a position. */
  allows(upto: number): boolean {
    return upto <= this.limit;
  }
}
