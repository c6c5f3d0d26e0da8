/** The client's end of a stream: what an application says and hears. */

import { MAX_MESSAGE_BYTES } from "../declarations.ts";
import { LegatoError, malformed } from "../failure.ts";
import { Chain } from "../flow/digest.ts";
import { AudioFrame, UNNUMBERED } from "../frame.ts";
import type { Resume, Text, UtteranceEnd } from "../messages.ts";
import { Hearing, type Start } from "./hearing.ts";
import { History, type Spoken } from "./history.ts";
import { Inbound } from "./inbound.ts";
import { type Item, isAudio, isFinal, NEVER, type Said } from "./lane.ts";
import { Openers, unsaid } from "./openers.ts";
import { Outbound } from "./outbound.ts";
import { advance, STREAM, type StreamSignal, type StreamState } from "./states.ts";

/** Seconds of audio that may be sent before the server's first credit arrives. */
const EARLY_SECONDS = 2;

/** Characters that may be sent before the server's first credit arrives. */
const EARLY_CHARS = 4000;

/** Characters of one `text`; longer text goes in several, so that credit lets its beginning pass. */
const PIECE_CHARS = 1000;

/** Audio of one frame: what a message holds beside the frame's numbers. */
const MAX_PAYLOAD_BYTES = MAX_MESSAGE_BYTES - 64;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** One stream as the client sees it. */
export class Stream extends Hearing {
  state: StreamState = "starting";
  /** Incarnation of the history. */
  epoch = 0;
  out: Outbound;
  /** Number of the utterance that is being said, or of the next one. */
  utterance = 0;
  /** Whether the server has answered the start. */
  confirmed = false;
  /** What resumes the stream, once the server gave it. */
  token: string | undefined;
  /** What the application asked for of the server, in multiples of real time. */
  pace: number | undefined;
  readonly #digest: boolean;
  #open = false;
  readonly #openers = new Openers();
  #cancelled = -1;
  #saidEnd = false;
  readonly #history: History;
  #endedUtterance = -1;
  #endedBefore = -1;
  #endedSample = 0;

  /** @param digest Whether the end of the input says what it adds up to. */
  constructor(start: Start, digest: boolean) {
    super(start);
    this.#digest = digest;
    this.#history = new History(this.sampleBytes);
    this.out = this.#makeOutbound(0);
  }

  /** Move on by the table. */
  signal(signal: StreamSignal): void {
    this.state = advance(STREAM, this.state, signal);
  }

  /** Whether entries may leave. */
  get sending(): boolean {
    return this.state === "starting" || this.state === "open";
  }

  /** Whether the stream has ended or failed. */
  get over(): boolean {
    return this.state === "ended" || this.state === "failed";
  }

  // what the application says

  /** Queue one frame of PCM; return its utterance. */
  sendAudio(payload: Uint8Array, last = false): number {
    if (payload.length % this.sampleBytes) {
      throw new LegatoError("bad_audio", "a frame ends in the middle of a sample");
    }
    if (payload.length > MAX_PAYLOAD_BYTES) {
      throw new LegatoError(
        "message_too_large",
        `a frame of ${payload.length} bytes is above ${MAX_PAYLOAD_BYTES}; send 20 ms a frame`,
      );
    }
    this.#checkOpen();
    const utterance = this.utterance;
    this.#say(new AudioFrame(payload, { seq: UNNUMBERED, last, utterance }));
    if (last) {
      this.#closeUtterance();
    }
    return utterance;
  }

  /** Queue a piece of text; return its utterance. */
  sendText(text: string): number {
    if (LONE_SURROGATE.test(text)) {
      throw malformed("text cannot be sent: half of a character has no bytes in UTF-8");
    }
    this.#checkOpen();
    const chars = [...text];
    for (let start = 0; start < Math.max(chars.length, 1); start += PIECE_CHARS) {
      const piece = chars.slice(start, start + PIECE_CHARS).join("");
      this.#say({ type: "text", stream: this.number, text: piece });
    }
    return this.utterance;
  }

  /** Have what is there spoken (or made final); the utterance goes on. */
  flush(): void {
    if (this.#open && !this.#saidEnd) {
      this.#push({ type: "flush", stream: this.number });
    }
  }

  /** End the utterance; the next text or audio opens another. */
  finalize(): void {
    if (this.#open && !this.#saidEnd) {
      this.#push({ type: "finalize", stream: this.number });
      this.#closeUtterance();
    }
  }

  /**
   * Stop an utterance and those before it: nothing of them is delivered after this call, and what
   * was not sent of them never is. One that was not begun counts as the last that was.
   */
  cancel(utterance: number, playedUpto?: number): void {
    const upto = Math.min(utterance, this.#open ? this.utterance : this.utterance - 1);
    if (upto <= this.#cancelled) {
      return;
    }
    this.#cancelled = upto;
    this.#history.ended(upto);
    this.out.drop(unsaid(this.utterance, upto));
    const { words, last } = this.#openers.wordsOfCancel(upto, this.number);
    last.played_upto = playedUpto;
    this.out.pushFirst(last);
    for (const item of words.reverse()) {
      this.out.pushFirst(item);
    }
    if (upto === this.utterance) {
      this.#closeUtterance();
    }
  }

  /** Say that no more input comes; the server delivers the rest and ends the stream. */
  finish(): void {
    if (!this.#saidEnd) {
      this.#saidEnd = true;
      this.#push({ type: "stream_end", stream: this.number });
    }
  }

  // what it hears

  /**
   * Take the delivered entries.
   *
   * What ended before this epoch ends no second time: of an utterance that failed, the rest of
   * its text may have been said to another server.
   */
  takeHeard(now: number): Item[] {
    const items = this.inbound.ready;
    this.inbound.ready = [];
    for (const item of items) {
      this.#hear(item, now);
    }
    if (this.start.task === "echo") {
      this.#history.done(this.receivedUpto);
    }
    return this.#endedBefore < 0 ? items : items.filter((item) => !isOf(item, this.#endedBefore));
  }

  #hear(item: Item, now: number): void {
    if (isAudio(item)) {
      this.receivedUpto = item.sample + Math.floor(item.payload.length / this.sampleBytes);
      this.chain.update(item.payload);
    } else if (item.type === "utterance_end") {
      if (item.utterance > this.#endedBefore) {
        this.#noteEnd(item, now);
      }
    } else if (isFinal(item)) {
      this.committed(item.end);
    }
  }

  #noteEnd(end: UtteranceEnd, now: number): void {
    this.#endedUtterance = end.utterance;
    this.#endedSample = end.sample;
    this.#history.ended(end.utterance);
    if (end.reason === "cancelled") {
      // Nobody will take what lies before: it must not hold back what comes after.
      this.receivedUpto = end.sample;
      this.consumed(end.sample, now);
    }
  }

  /** Note that the server is done with the samples of up before `upto`. */
  committed(upto: number): void {
    if (this.start.task === "recognize") {
      this.#history.done(upto);
    }
  }

  /** Whether an entry is a frame of a cancelled utterance. */
  isCancelled(item: Item): boolean {
    return isAudio(item) && item.utterance <= this.#cancelled;
  }

  /** Note how far the server lets this side go. */
  grant(credit: { credit_samples?: number | undefined; credit_chars?: number | undefined }): void {
    this.out.samples.grant(credit.credit_samples);
    this.out.chars.grant(credit.credit_chars);
  }

  // from server to server

  /** What asks a server to go on with the stream. */
  resume(): Resume {
    return {
      type: "resume",
      stream: this.number,
      stream_id: this.start.stream_id,
      token: this.token ?? "",
      epoch: this.epoch,
      received_seq: this.inbound.expected - 1,
      sent_seq: this.out.sentSeq,
    };
  }

  /**
   * Begin anew with a server that has lost the history: what was said is queued again, as far as
   * what follows from it is not here.
   *
   * @returns What the lost server would have said of utterances that were cancelled.
   */
  beginEpoch(now: number): UtteranceEnd[] {
    const { sample, said } = this.#history.again(this.out.samples.spent);
    // An echo comes back where it was said, and what was cancelled never does.
    const isEcho = this.start.task === "echo";
    const upto = isEcho ? Math.max(sample, this.receivedUpto) : this.receivedUpto;
    const ends: UtteranceEnd[] = [];
    for (let number = this.#endedUtterance + 1; number <= this.#cancelled; number++) {
      const end: UtteranceEnd = {
        type: "utterance_end",
        stream: 0,
        utterance: number,
        reason: "cancelled",
        sample: upto,
      };
      this.#noteEnd(end, now);
      ends.push(end);
    }
    if (this.#open && !said.length && this.utterance <= this.#endedUtterance) {
      // It ended early, with a fault: what is said of it yet must not count as the next.
      said.push([this.utterance, { type: "text", stream: this.number, text: "" }]);
    }
    this.#endedBefore = this.#endedUtterance;
    this.#adopt(sample, said);
    return ends;
  }

  /** Begin a history with `sample` and with what is said. */
  #adopt(sample: number, said: readonly Spoken[]): void {
    const utterance = said[0]?.[0] ?? this.utterance;
    this.epoch += 1;
    const continues = {
      epoch: this.epoch,
      token: this.token ?? "",
      utterance,
      speaking: utterance === this.#history.passed && utterance > this.#endedUtterance,
      sample,
      utterance_sample: this.#endedSample,
      received_upto: this.receivedUpto,
    };
    this.start = { ...this.start, continues };
    this.confirmed = false;
    this.inbound = new Inbound();
    this.chain = new Chain();
    this.out = this.#makeOutbound(sample);
    this.#openers.restore(said);
    for (const [, item] of said) {
      this.out.push(item);
    }
  }

  /** When this stream wants to be looked at again. */
  nextTimer(now: number): number {
    return this.sending ? Math.min(this.out.readyAt(now), this.ackAt) : NEVER;
  }

  // details

  #checkOpen(): void {
    if (this.#saidEnd) {
      throw new LegatoError(
        "unexpected_message",
        "the stream was finished; start another for more input",
      );
    }
  }

  #say(item: AudioFrame | Text): void {
    if (!this.#open) {
      this.#open = true;
      this.#openers.note(this.utterance, item);
    }
    this.#push(item);
  }

  #push(item: Said): void {
    this.#history.keep(this.utterance, item);
    this.out.push(item);
  }

  #closeUtterance(): void {
    this.utterance += 1;
    this.#open = false;
  }

  /** A lane whose first sample is at `sample`, with the credit that holds at first. */
  #makeOutbound(sample: number): Outbound {
    const sampleRate = this.start.sample_rate;
    const out = new Outbound({ sampleBytes: this.sampleBytes, sampleRate, digest: this.#digest });
    out.samples.spent = sample;
    out.samples.grant(sample + EARLY_SECONDS * sampleRate);
    out.chars.grant(EARLY_CHARS);
    return out;
  }
}

/** Whether an entry sounds or ends an utterance up to `utterance`. */
function isOf(item: Item, utterance: number): boolean {
  return (isAudio(item) || item.type === "utterance_end") && item.utterance <= utterance;
}
