/** The hearing half of a stream: order, acks, and the digest over what came. */

import { MAX_POSITION } from "../declarations.ts";
import { Chain } from "../flow/digest.ts";
import type { Ack, Quality, StreamEnd, StreamStart } from "../messages.ts";
import { Inbound, type Verdict } from "./inbound.ts";
import { type Item, isAudio, NEVER } from "./lane.ts";

/** Seconds between acks while anything flows. */
const ACK_INTERVAL = 0.1;

/** Seconds of audio that the server may send beyond what the application has taken. */
const HEARING_SECONDS = 30;

/** A stream's parameters as the session keeps them. */
export type Start = StreamStart & { stream: number; sample_rate: number; channels: number };

/** What a stream hears; `Stream` adds what it says. */
export class Hearing {
  /** Number on the connection. */
  readonly number: number;
  start: Start;
  /** Bytes of one sample over all channels. */
  readonly sampleBytes: number;
  inbound = new Inbound();
  /** Samples received. */
  receivedUpto = 0;
  /** Samples that the application took. */
  consumedUpto = 0;
  /** When an ack is due. */
  ackAt = NEVER;
  protected chain = new Chain();
  #playedUpto: number | undefined;
  #quality: Quality | undefined;
  #lastAck = Number.NEGATIVE_INFINITY;

  constructor(start: Start) {
    this.start = start;
    this.number = start.stream;
    this.sampleBytes = 2 * start.channels;
  }

  /** Take an arrived entry and note the ack that it calls for. */
  accept(seq: number, item: Item, now: number): Verdict {
    if (!isAudio(item) && item.type === "utterance_end" && item.sent_seq !== undefined) {
      this.inbound.skip(item.sent_seq + 1, seq);
    }
    const verdict = this.inbound.accept(seq, item);
    if (verdict === "delivered" && !isAudio(item)) {
      this.oweAckAtOnce(now);
    } else if (verdict === "delivered" || verdict === "duplicate") {
      this.oweAck(now);
    }
    return verdict;
  }

  /** Note that the application took everything before sample `upto`; gives credit. */
  consumed(upto: number, now: number): void {
    if (upto > this.consumedUpto) {
      this.consumedUpto = upto;
      this.oweAck(now);
    }
  }

  /** Note that the listener heard everything before sample `upto`, and how that was. */
  played(upto: number, now: number, quality?: Quality): void {
    this.#playedUpto = Math.max(this.#playedUpto ?? 0, upto);
    this.#quality = quality ?? this.#quality;
    this.oweAck(now);
  }

  /** Whether the digest over what came is the one that the server sent. */
  isIntact(end: StreamEnd): boolean {
    return end.digest === undefined || end.digest === this.chain.hex();
  }

  /** Digest over what came, in hex. */
  get heardDigest(): string {
    return this.chain.hex();
  }

  /** Have an ack sent within 100 ms of the last one. */
  oweAck(now: number): void {
    if (this.ackAt === NEVER) {
      this.ackAt = Math.max(now, this.#lastAck + ACK_INTERVAL);
    }
  }

  /** Have an ack sent at once. */
  oweAckAtOnce(now: number): void {
    this.ackAt = Math.min(this.ackAt, now);
  }

  /** An ack of what is here; none is owed any more. */
  takeAck(now: number): Ack {
    this.ackAt = NEVER;
    this.#lastAck = now;
    const received = this.inbound.expected - 1;
    const upto = Math.min(this.receivedUpto, MAX_POSITION);
    const credit = this.consumedUpto + HEARING_SECONDS * this.start.sample_rate;
    const quality = this.#quality;
    this.#quality = undefined;
    return {
      type: "ack",
      stream: this.number,
      received_seq: received,
      committed_seq: received,
      received_upto: upto,
      committed_upto: upto,
      played_upto: this.#playedUpto,
      credit_samples: Math.min(credit, MAX_POSITION),
      quality,
    };
  }
}
