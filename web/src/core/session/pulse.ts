/** When a client asks whether its peer is still there. */

import type { Heartbeat, Ping, Pong } from "../messages.ts";
import { NEVER } from "./lane.ts";

/**
 * The heartbeat of one connection.
 *
 * Silence makes a ping due; silence after the ping makes the connection count as lost. Data is
 * as good as a pong for that, as a pong may queue behind much of it.
 */
export class Pulse {
  /** The profile, as the server gives it. */
  heartbeat: Heartbeat = { idle: 30, active: 2, timeout: 5 };
  #heardAt = 0;
  #askedAt = NEVER;
  #number = 0;

  /** A connection is there, or counts as new; `asking` tells whether an answer is owed. */
  begin(now: number, asking: boolean): void {
    this.#heardAt = now;
    this.#askedAt = asking ? now : NEVER;
  }

  /** Something arrived. */
  hear(now: number): void {
    this.#heardAt = now;
  }

  /** When to ping, or when to give up if an answer is owed. */
  dueAt(active: boolean): number {
    if (this.asking) {
      return Math.max(this.#askedAt, this.#heardAt) + this.heartbeat.timeout;
    }
    return this.#heardAt + (active ? this.heartbeat.active : this.heartbeat.idle);
  }

  /** Whether an answer is owed. */
  get asking(): boolean {
    return this.#askedAt < NEVER;
  }

  /** Seconds since the peer was heard. */
  silence(now: number): number {
    return now - this.#heardAt;
  }

  /** The ping to send. */
  ask(now: number): Ping {
    this.#number += 1;
    this.#askedAt = now;
    return { type: "ping", id: this.#number, time: now };
  }

  /** A pong arrived: returns the round trip in seconds; one of an older ping is no answer. */
  answered(pong: Pong, now: number): number | undefined {
    if (pong.id !== this.#number || !this.asking) {
      return undefined;
    }
    const rtt = now - this.#askedAt;
    this.#askedAt = NEVER;
    return rtt;
  }
}
