/** The sending half of a lane: numbers, credit, pace and replay. */

import { LegatoError } from "../failure.ts";
import { Credit } from "../flow/credit.ts";
import { Chain } from "../flow/digest.ts";
import { TokenBucket } from "../flow/pacing.ts";
import { Replay } from "../flow/replay.ts";
import { type AudioFrame, UNNUMBERED } from "../frame.ts";
import { countChars, isAudio, NEVER, type Said } from "./lane.ts";

/** Seconds of audio that may run ahead of real time before pacing holds it. */
const LEAD = 2;

/** Seconds of audio kept for replay beyond what the peer has not received. */
const KEEP = 60;

/** Queues, numbers, holds back, keeps and repeats what one end of a stream says. */
export class Outbound {
  /** Credit for audio; `spent` is the position of the next new sample. */
  readonly samples = new Credit();
  /** Credit for text. */
  readonly chars = new Credit();
  /** Number of the next new entry. */
  nextSeq = 0;
  /** Last number sent. */
  sentSeq = -1;
  /** Audio frames sent, repeats not counted. */
  frames = 0;
  /** Samples that wait. */
  queuedSamples = 0;
  readonly #sampleBytes: number;
  readonly #sampleRate: number;
  readonly #lead: number;
  readonly #chain: Chain | undefined;
  readonly #replay: Replay<Said>;
  #queue: Said[] = [];
  #resend: Said[] = [];
  #bucket: TokenBucket | undefined;

  /** @param digest Whether `stream_end` says what the payloads add up to. */
  constructor(options: { sampleBytes: number; sampleRate: number; digest: boolean }) {
    this.#sampleBytes = options.sampleBytes;
    this.#sampleRate = options.sampleRate;
    this.#lead = Math.round(LEAD * options.sampleRate);
    this.#replay = new Replay(Math.round(KEEP * options.sampleRate));
    this.#chain = options.digest ? new Chain() : undefined;
  }

  /** Queue an entry. */
  push(item: Said): void {
    this.#queue.push(item);
    this.#count(item, 1);
  }

  /** Queue an entry that goes before all others that were not sent yet. */
  pushFirst(item: Said): void {
    this.#queue.unshift(item);
    this.#count(item, 1);
  }

  /** Entries not sent yet. */
  get queued(): number {
    return this.#queue.length;
  }

  /** What was sent, repeats not counted. */
  get totals(): { frames: number; samples: number; digest: string } {
    const digest = this.#chain?.hex() ?? "";
    return { frames: this.frames, samples: this.samples.spent, digest };
  }

  /** Whether everything ever sent could be sent again. */
  get complete(): boolean {
    return this.#replay.complete;
  }

  /** Remove entries that were not sent yet; asks from the last to the first. */
  drop(isUnwanted: (item: Said) => boolean): void {
    const kept = [];
    for (const item of this.#queue.reverse()) {
      if (isUnwanted(item)) {
        this.#count(item, -1);
      } else {
        kept.push(item);
      }
    }
    this.#queue = kept.reverse();
  }

  /** Pace audio at `rate` times real time, 2 s ahead at the most; 0 stops it. */
  setRate(rate: number, now: number): void {
    if (this.#bucket) {
      this.#bucket.setRate(rate * this.#sampleRate, now);
    } else {
      this.#bucket = new TokenBucket(rate * this.#sampleRate, this.#lead);
    }
  }

  /** The next entry that may be sent now, numbered and kept. */
  take(now: number): Said | undefined {
    const again = this.#resend.shift();
    if (again) {
      return again;
    }
    const item = this.#queue[0];
    if (!item) {
      return undefined;
    }
    return isAudio(item) ? this.#takeFrame(item, now) : this.#takeMessage(item);
  }

  #takeFrame(frame: AudioFrame, now: number): Said | undefined {
    const size = this.#sizeOf(frame);
    const end = this.#startOf(frame) + size;
    if (!this.samples.allows(end)) {
      return undefined;
    }
    // A frame that is longer than the lead goes when the whole lead is free.
    const paced = Math.min(size, this.#lead);
    if (this.#bucket && paced && !this.#bucket.take(paced, now)) {
      return undefined;
    }
    if (frame.seq === UNNUMBERED) {
      frame.seq = this.nextSeq;
      frame.sample = this.samples.spent;
    }
    this.samples.spent = end;
    this.frames += 1;
    this.#chain?.update(frame.payload);
    this.#noteSent(frame.seq, frame, size);
    return frame;
  }

  #takeMessage(queued: Exclude<Said, AudioFrame>): Said | undefined {
    if (queued.type === "text") {
      const upto = this.chars.spent + countChars(queued.text);
      if (!this.chars.allows(upto)) {
        return undefined;
      }
      this.chars.spent = upto;
    }
    const message = this.#completed(queued);
    message.seq ??= this.nextSeq;
    this.#noteSent(message.seq, message, 0);
    return message;
  }

  /** Marks say where they stand among the samples, and the end has the totals. */
  #completed(message: Exclude<Said, AudioFrame>): Exclude<Said, AudioFrame> {
    if (message.type === "finalize" && message.sample === undefined && this.frames) {
      return { ...message, sample: this.samples.spent };
    }
    if (message.type === "stream_end") {
      const { frames, samples, digest } = this.totals;
      return { ...message, frames, samples, digest: this.#chain && digest };
    }
    return message;
  }

  #noteSent(seq: number, item: Said, size: number): void {
    const queued = this.#queue.shift();
    if (queued) {
      this.#count(queued, -1);
    }
    this.sentSeq = seq;
    this.nextSeq = seq + 1;
    this.#replay.keep(seq, item, size);
  }

  /** When `take` may have something to give: `now`, later, or never. */
  readyAt(now: number): number {
    if (this.#resend.length) {
      return now;
    }
    const head = this.#queue[0];
    if (!head) {
      return NEVER;
    }
    if (isAudio(head)) {
      const size = this.#sizeOf(head);
      if (!this.samples.allows(this.#startOf(head) + size)) {
        return NEVER;
      }
      return this.#bucket && size ? this.#bucket.readyAt(Math.min(size, this.#lead), now) : now;
    }
    const chars = head.type === "text" ? countChars(head.text) : 0;
    return chars && !this.chars.allows(this.chars.spent + chars) ? NEVER : now;
  }

  /**
   * Note what the peer holds and has done with; neither can be more than was sent, and what is
   * done with was received.
   */
  acknowledge(received: number, committed: number): void {
    const done = Math.min(committed, this.sentSeq);
    this.#replay.receive(Math.max(Math.min(received, this.sentSeq), done));
    this.#replay.release(done);
  }

  /** Send again everything from `seq` on; fails with `resume_gap` if that is not here. */
  rewind(seq: number): void {
    if (seq > this.sentSeq + 1) {
      throw new LegatoError(
        "resume_gap",
        `the peer expects entry ${seq}, only ${this.sentSeq + 1} were sent`,
        { missing: [this.sentSeq + 1, seq] },
      );
    }
    this.#resend = this.#replay.since(seq);
  }

  #sizeOf(frame: AudioFrame): number {
    return Math.floor(frame.payload.length / this.#sampleBytes);
  }

  #startOf(frame: AudioFrame): number {
    return frame.seq === UNNUMBERED ? this.samples.spent : frame.sample;
  }

  #count(item: Said, times: 1 | -1): void {
    this.queuedSamples += isAudio(item) ? times * this.#sizeOf(item) : 0;
  }
}
