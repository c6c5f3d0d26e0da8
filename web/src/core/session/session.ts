/** The client's machine: one session that may live over several connections. */

import { encode } from "../codec.ts";
import { errorFrom, LegatoError } from "../failure.ts";
import type { AudioFrame } from "../frame.ts";
import type {
  Ack,
  Draining,
  ErrorMessage,
  Hello,
  Resumed,
  StreamEnd,
  StreamStart,
  StreamStarted,
  Welcome,
} from "../messages.ts";
import type { Event } from "./events.ts";
import { type Item, isAudio } from "./lane.ts";
import { Link, type StreamNews } from "./link.ts";
import { checkStart } from "./offer.ts";
import { Stream } from "./stream.ts";

/** Finished streams whose last ack is kept, for a server that missed it. */
const REMEMBERED = 256;

/** Refusals that another server, or the same one later, may not repeat. */
const PASSING = new Set(["draining", "overloaded", "bus_unavailable", "engine_unavailable"]);

/** Errors of a stream whose history the server has not; its client can begin the next epoch. */
const LOST = new Set(["session_expired", "epoch_changed"]);

/** Speaks to one server. */
export class Session extends Link {
  readonly #hello: () => Hello;
  readonly #digest: boolean;
  #nextNumber = 1;
  readonly #finished = new Map<number, Ack>();
  readonly #lost = new Map<Stream, LegatoError>();

  /**
   * @param hello Makes what is sent first on every connection.
   * @param digest Whether the end of an input says what it adds up to.
   */
  constructor(hello: () => Hello, digest = true) {
    super();
    this.#hello = hello;
    this.#digest = digest;
  }

  // connections

  /** A connection is there: say hello, and start what was never started. */
  connected(now: number): void {
    this.signal("connect");
    this.pulse.begin(now, true);
    this.send(this.#hello());
    for (const stream of this.streams.values()) {
      if (stream.state === "starting") {
        this.#ask(stream);
      }
    }
  }

  /** The connection is lost; streams wait for the next one. */
  disconnected(): void {
    this.signal("lose");
    this.forgetOutgoing();
    for (const stream of [...this.streams.values()]) {
      stream.signal("lose");
      if (stream.token === undefined) {
        this.#startAgain(stream);
      }
    }
  }

  // streams

  /** Announce a stream, which gets a number; its input may be queued at once. */
  start(parameters: StreamStart): Stream {
    const start = { ...checkStart(parameters), stream: this.#nextNumber };
    encode(start); // fails here, and not when a connection comes, if it is too large
    this.#nextNumber += 1;
    const stream = new Stream(start, this.#digest);
    this.streams.set(stream.number, stream);
    if (this.rate !== undefined) {
      stream.out.setRate(this.rate, 0);
    }
    if (this.up) {
      this.send(stream.start);
      stream.token = this.state === "open" ? this.token : undefined;
    }
    return stream;
  }

  /** End a stream now and have its data deleted; nothing more of it is told. */
  stop(stream: Stream): void {
    if (!this.streams.delete(stream.number)) {
      return;
    }
    this.#lost.delete(stream);
    stream.signal("end");
    this.untell(stream);
    if (this.up) {
      this.send({ type: "stop", stream: stream.number });
    }
  }

  /** Ask the server to send at `rate` times real time until the next; 0 pauses audio. */
  setPace(stream: Stream, rate: number): void {
    stream.pace = rate;
    if (stream.state === "open") {
      this.#sendPace(stream);
    }
  }

  override takeEvents(): Event[] {
    return super.takeEvents().flatMap(withoutCancelled);
  }

  // asking

  /** Ask the server to start or to resume a stream. */
  #ask(stream: Stream): void {
    this.send(stream.state === "resuming" ? stream.resume() : stream.start);
  }

  /** The server never saw the start: it was lost with the connection that carried it. */
  #startAgain(stream: Stream): void {
    stream.signal("restart");
    this.#rewind(stream, 0);
    if (this.up && !stream.over) {
      stream.token = this.token;
      this.#ask(stream);
    }
  }

  /** The server has lost the stream's history: say again what is not done with. */
  #beginEpoch(stream: Stream, error: LegatoError, now: number): void {
    this.#lost.set(stream, error);
    stream.signal("restart");
    const ends = stream.beginEpoch(now);
    if (this.rate !== undefined) {
      stream.out.setRate(this.rate, now);
    }
    this.tell({ kind: "recovered", stream });
    if (ends.length) {
      this.tell({ kind: "received", stream, items: ends });
    }
    stream.token = this.token;
    this.#ask(stream);
  }

  #rewind(stream: Stream, seq: number): void {
    try {
      stream.out.rewind(seq);
    } catch (error) {
      if (!(error instanceof LegatoError)) {
        throw error;
      }
      this.#fail(stream, error);
    }
  }

  #fail(stream: Stream, error: LegatoError): void {
    const loss = this.#lost.get(stream);
    this.#lost.delete(stream);
    stream.signal("fail");
    this.streams.delete(stream.number);
    if (this.up && !error.facts.remote) {
      this.send({ type: "stop", stream: stream.number });
    }
    // It was deleted, and cannot begin anew.
    const told = error.code === "stream_exists" ? (loss ?? error) : error;
    this.tell({ kind: "failed", stream, error: told });
  }

  // what the server says

  protected override receiveWelcome(welcome: Welcome, now: number): void {
    super.receiveWelcome(welcome, now);
    for (const stream of this.streams.values()) {
      if (stream.state === "suspended") {
        stream.signal("resume");
        this.#ask(stream);
      } else {
        stream.token = this.token;
      }
    }
  }

  protected override receiveDraining(draining: Draining): void {
    super.receiveDraining(draining);
    for (const stream of this.streams.values()) {
      if (stream.sending) {
        stream.token = this.token;
      }
    }
  }

  protected override receiveStreamMessage(message: StreamNews, now: number): void {
    switch (message.type) {
      case "stream_started":
        this.#receiveStarted(message, now);
        break;
      case "resumed":
        this.#receiveResumed(message, now);
        break;
      case "ack":
        this.#receiveAck(message);
        break;
      case "notice":
        this.#withStream(message, (stream) => {
          this.tell({ kind: "noticed", stream, notice: message });
        });
        break;
      case "error":
        this.#receiveError(message, now);
        break;
      default:
        this.#takeEntry(message.stream, seqOf(message), message, now);
    }
  }

  protected override receiveFrame(frame: AudioFrame, now: number): void {
    this.#takeEntry(frame.stream, frame.seq, frame, now);
  }

  #withStream(message: { stream: number }, act: (stream: Stream) => void): void {
    const stream = this.find(message.stream);
    if (stream) {
      act(stream);
    }
  }

  #receiveStarted(started: StreamStarted, now: number): void {
    this.#withStream(started, (stream) => {
      stream.signal("started");
      this.#lost.delete(stream);
      stream.epoch = started.epoch;
      stream.grant(started);
      stream.oweAckAtOnce(now);
      if (!stream.confirmed) {
        stream.confirmed = true;
        this.#sendPace(stream);
        this.tell({ kind: "opened", stream, started });
      }
    });
  }

  #receiveResumed(resumed: Resumed, now: number): void {
    const stream = this.find(resumed.stream);
    if (stream?.state !== "resuming") {
      return;
    }
    if (!resumed.recovered) {
      const sentence = "the server lost the stream's history";
      this.#fail(stream, new LegatoError("resume_gap", sentence, { missing: resumed.missing }));
      return;
    }
    stream.out.acknowledge(resumed.received_seq, -1);
    this.#rewind(stream, resumed.received_seq + 1);
    if (stream.over) {
      return;
    }
    stream.signal("resumed");
    stream.token = this.token;
    stream.epoch = resumed.epoch;
    stream.inbound.forgetGap();
    stream.oweAckAtOnce(now);
    if (stream.confirmed) {
      this.#sendPace(stream);
    } else {
      this.#ask(stream);
    }
    this.tell({ kind: "recovered", stream });
  }

  #receiveAck(ack: Ack): void {
    this.#withStream(ack, (stream) => {
      stream.out.acknowledge(ack.received_seq, ack.committed_seq);
      stream.committed(ack.committed_upto);
      stream.grant(ack);
      this.tell({ kind: "progressed", stream });
    });
  }

  #receiveError(message: ErrorMessage, now: number): void {
    const stream = this.find(message.stream ?? 0);
    if (!stream) {
      return;
    }
    const error = errorFrom(message);
    if (error.code === "sequence_gap") {
      this.#rewind(stream, message.expected ?? 0);
    } else if (error.code === "session_expired" && isUntouched(stream)) {
      this.#startAgain(stream);
    } else if (LOST.has(error.code) && mayBeginEpoch(stream)) {
      this.#beginEpoch(stream, error, now);
    } else if (PASSING.has(error.code) && this.#mayWait(stream)) {
      stream.signal("lose");
      this.tell({ kind: "resume_refused", stream, error });
    } else {
      this.#fail(stream, error);
    }
  }

  /** Whether a stream that was under way may wait for another try. */
  #mayWait(stream: Stream): boolean {
    return stream.state === "resuming" || (this.#lost.has(stream) && stream.state === "starting");
  }

  #takeEntry(number: number, seq: number, item: Item, now: number): void {
    const stream = this.find(number);
    if (!stream) {
      const ack = this.#finished.get(number);
      if (ack) {
        this.send(ack);
      }
      return;
    }
    if (isAudio(item) && item.payload.length % stream.sampleBytes) {
      const sentence = `the server sent ${item.payload.length} bytes of PCM`;
      this.#fail(stream, new LegatoError("bad_audio", sentence));
      return;
    }
    const verdict = stream.accept(seq, item, now);
    if (verdict === "delivered") {
      this.#deliver(stream, now);
    } else if (verdict === "gap" && stream.state === "open") {
      stream.signal("resume");
      this.#ask(stream);
    }
  }

  #deliver(stream: Stream, now: number): void {
    const items = stream.takeHeard(now);
    if (items.length) {
      this.tell({ kind: "received", stream, items });
    }
    const end = items.at(-1);
    if (end && !isAudio(end) && end.type === "stream_end") {
      this.#finish(stream, end, now);
    }
  }

  #finish(stream: Stream, end: StreamEnd, now: number): void {
    const ack = stream.takeAck(now);
    this.send(ack);
    this.#finished.set(stream.number, ack);
    const [oldest] = this.#finished.keys();
    if (this.#finished.size > REMEMBERED && oldest !== undefined) {
      this.#finished.delete(oldest);
    }
    stream.signal("end");
    this.streams.delete(stream.number);
    this.tell({ kind: "finished", stream, end, intact: stream.isIntact(end) });
  }

  #sendPace(stream: Stream): void {
    if (stream.pace !== undefined) {
      this.send({ type: "flow_control", rate: stream.pace, stream: stream.number });
    }
  }
}

/** The number that an entry must have. */
function seqOf(message: { seq?: number | undefined }): number {
  if (message.seq === undefined) {
    throw new LegatoError("unexpected_message", "a stream's entries need seq");
  }
  return message.seq;
}

/** Whether a start that goes on is understood: one repeated is not on its way. */
function mayBeginEpoch(stream: Stream): boolean {
  return stream.state === "resuming" || (stream.state === "open" && stream.confirmed);
}

/** Whether nothing came of a stream that was to be resumed, so that it can begin anew. */
function isUntouched(stream: Stream): boolean {
  return stream.state === "resuming" && stream.inbound.expected === 0 && stream.out.complete;
}

/** An event without frames cancelled since it was told; nothing if nothing is left. */
function withoutCancelled(event: Event): Event[] {
  if (event.kind !== "received") {
    return [event];
  }
  const items = event.items.filter((item) => !event.stream.isCancelled(item));
  return items.length ? [{ ...event, items }] : [];
}
