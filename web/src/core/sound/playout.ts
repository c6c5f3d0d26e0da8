/** The last step before the ear, without a device: audio goes in as it arrives, out at its pace. */

import { type AdaptiveStart, Arrivals } from "./start.ts";

/**
 * `filling` holds audio back until there is enough to start, `playing` gives it to the device,
 * `stalled` ran dry before the end and holds back again: the listener hears a gap.
 */
export type PlayoutState = "filling" | "playing" | "stalled";

/** What is there to play: the depth or all before the end, less, nothing, nothing before the end. */
type Signal = "enough" | "some" | "dry" | "over";

/** The buffer's life, as in `legato/flow/jitter.py`; a stall that turns out to be the end is none. */
export const TRANSITIONS: Readonly<Record<PlayoutState, Readonly<Record<Signal, PlayoutState>>>> = {
  filling: { enough: "playing", some: "filling", dry: "filling", over: "filling" },
  playing: { enough: "playing", some: "playing", dry: "stalled", over: "filling" },
  stalled: { enough: "playing", some: "stalled", dry: "stalled", over: "filling" },
};

/** Seconds of the fades that keep a gap from clicking. */
export const FADE = 0.005;
/** Samples of the fade after `clear`: one render quantum of Web Audio. */
export const CLEAR_FADE = 128;
/** A sample of 16 bits beyond this is heard: -60 dB of full scale. */
export const AUDIBLE = 33;
/** Seconds that may be held unless told otherwise: ten minutes, 58 MB at 48 kHz. */
export const LIMIT = 600;

const FULL_SCALE = 32768;

export interface PlayoutOptions {
  /** Hz, of the audio and of the device. */
  readonly sampleRate: number;
  /** Seconds to hold before playing and after a stall, or what decides them. */
  readonly depth: number | AdaptiveStart;
  /** Whether gaps are faded; without it what comes out is what went in, bit for bit. */
  readonly effects?: boolean;
  /** Seconds that may be held. */
  readonly limit?: number;
}

interface Segment {
  readonly sample: number;
  readonly pcm: Int16Array;
}

/**
 * Plays each sample at most once and in order of positions.
 *
 * Positions go on across reconnections. What was pushed before is cut off a frame that overlaps it;
 * positions that never arrive are passed over.
 */
export class Playout {
  readonly #rate: number;
  readonly #depth: number | AdaptiveStart;
  readonly #fade: number;
  readonly #effects: boolean;
  readonly #limit: number;
  readonly #arrivals: Arrivals;
  readonly #waiting: Segment[] = [];
  /** Samples of the first segment that are played. */
  #offset = 0;
  #held = 0;
  /** Position after the last sample that was pushed or given up. */
  #pushedUpto = 0;
  #end: number | null = null;
  #open = false;
  #dryAt = 0;
  #rising = 0;
  #falling = { from: 0, over: 1, left: 0 };
  #last = 0;

  state: PlayoutState = "filling";
  /** Position after the last sample given to the device. */
  playedUpto = 0;
  /** Samples given to the device, silence included. */
  rendered = 0;
  /** Gaps that a listener heard within an utterance, and their seconds in all. */
  stalls = 0;
  stalled = 0;
  /** Samples that came again or too late, and samples that found no room. */
  late = 0;
  dropped = 0;
  /** Of `rendered`, where the first sample was played, and the first one above -60 dB. */
  playedAt: number | null = null;
  audibleAt: number | null = null;
  /** Whether all that was pushed before the last `end` is played, and nothing came since. */
  isFinished = false;

  /** @throws RangeError if a depth in seconds is negative or above the limit. */
  constructor({ sampleRate, depth, effects = true, limit = LIMIT }: PlayoutOptions) {
    if (typeof depth === "number" && !(depth >= 0 && depth <= limit)) {
      throw new RangeError(`depth must be 0 to ${limit} seconds, not ${depth}`);
    }
    this.#rate = sampleRate;
    this.#depth = depth;
    this.#effects = effects;
    this.#fade = Math.round(FADE * sampleRate);
    this.#limit = Math.round(limit * sampleRate);
    this.#arrivals = new Arrivals(sampleRate);
  }

  /** Seconds of audio that wait. */
  get buffered(): number {
    return this.#held / this.#rate;
  }

  /** Seconds to hold before the next start, as things are. */
  get depth(): number {
    return typeof this.#depth === "number" ? this.#depth : this.#depth.depth(this.#arrivals.rate);
  }

  /** Whether a fade after the last sample is still to be rendered. */
  get isFading(): boolean {
    return this.#falling.left > 0;
  }

  /** Position after the last sample that was pushed. */
  get pushedUpto(): number {
    return this.#pushedUpto;
  }

  /**
   * Take audio whose first sample is at position `sample` and that came at `now`, monotonic seconds.
   *
   * @returns false if none of it will be played.
   */
  push(pcm: Int16Array, sample: number, now: number): boolean {
    const late = Math.min(Math.max(0, this.#pushedUpto - sample), pcm.length);
    const fresh = pcm.length - late;
    this.late += late;
    if (fresh === 0) return false;
    if (this.#held + fresh > this.#limit) {
      this.dropped += fresh;
      return false;
    }
    this.#waiting.push({ sample: sample + late, pcm: late ? pcm.subarray(late) : pcm });
    this.#held += fresh;
    this.#pushedUpto = sample + pcm.length;
    this.#arrivals.add(sample + late, now);
    this.#open = true;
    this.isFinished = false;
    return true;
  }

  /** Nothing more comes of this utterance: play what there is. What is pushed next begins another. */
  end(): void {
    this.#end = this.#pushedUpto;
    if (this.#open && typeof this.#depth !== "number") {
      this.#depth.learn(this.#arrivals.requiredDelay);
    }
    this.#open = false;
    this.#arrivals.finish();
  }

  /** Fall silent: not a sample that was pushed, or is still to come before `upto`, is played. */
  clear(upto = 0): void {
    this.#waiting.length = 0;
    this.#offset = 0;
    this.#held = 0;
    this.#pushedUpto = Math.max(this.#pushedUpto, upto);
    this.#end = null;
    this.#open = false;
    this.#arrivals.finish();
    if (this.state === "playing") this.#fall(CLEAR_FADE);
    const { from, over, left } = this.#falling;
    if (left > CLEAR_FADE) {
      this.#falling = { from: (from * left) / over, over: CLEAR_FADE, left: CLEAR_FADE };
    }
    this.state = "filling";
    this.isFinished = true;
  }

  /**
   * Fill `out` with what the device is to play next, in -1 to 1.
   *
   * @returns How many samples of it, from its beginning, are audio that was pushed.
   */
  render(out: Float32Array): number {
    let filled = 0;
    while (filled < out.length && this.#advance(filled)) filled += this.#play(out, filled);
    this.#hush(out, filled);
    this.rendered += out.length;
    return filled;
  }

  /** Move on by what is there; whether there is something to play now. */
  #advance(filled: number): boolean {
    let signal = this.#look();
    if (signal === "over") {
      this.#become("filling", filled);
      this.#end = null;
      this.isFinished = this.#held === 0;
      signal = this.#look();
    }
    this.#become(TRANSITIONS[this.state][signal], filled);
    return this.state === "playing";
  }

  #become(state: PlayoutState, filled: number): void {
    const at = this.rendered + filled;
    if (this.state === "stalled" && state === "playing") {
      this.stalls += 1;
      this.stalled += (at - this.#dryAt) / this.#rate;
      this.#rising = this.#effects ? this.#fade : 0;
    }
    if (this.state === "playing" && state !== "playing") {
      this.#dryAt = at;
      this.#fall(this.#fade);
    }
    this.state = state;
  }

  #look(): Signal {
    const first = this.#waiting[0];
    if (this.#end !== null) {
      return first === undefined || first.sample >= this.#end ? "over" : "enough";
    }
    if (first === undefined) return "dry";
    return this.#held >= Math.round(this.depth * this.#rate) ? "enough" : "some";
  }

  /** Play of the first segment what fits; how much that was. */
  #play(out: Float32Array, filled: number): number {
    const first = this.#waiting[0];
    if (first === undefined) return 0;
    const { pcm, sample } = first;
    const count = Math.min(pcm.length - this.#offset, out.length - filled);
    for (let index = 0; index < count; index += 1) {
      const value = pcm[this.#offset + index] ?? 0;
      if (this.audibleAt === null && Math.abs(value) >= AUDIBLE) {
        this.audibleAt = this.rendered + filled + index;
      }
      out[filled + index] = (value / FULL_SCALE) * this.#rise();
    }
    this.playedAt ??= this.rendered + filled;
    this.#last = out[filled + count - 1] ?? 0;
    this.#falling.left = 0;
    this.#held -= count;
    this.#offset += count;
    this.playedUpto = sample + this.#offset;
    if (this.#offset === pcm.length) {
      this.#waiting.shift();
      this.#offset = 0;
    }
    return count;
  }

  #rise(): number {
    if (this.#rising === 0) return 1;
    this.#rising -= 1;
    return 1 - this.#rising / this.#fade;
  }

  #fall(samples: number): void {
    this.#rising = 0;
    if (this.#effects && this.#last !== 0) {
      this.#falling = { from: this.#last, over: samples, left: samples };
    }
    this.#last = 0;
  }

  /** Silence; after a sound, its last value on the way to it. */
  #hush(out: Float32Array, filled: number): void {
    const falling = this.#falling;
    let at = filled;
    while (at < out.length && falling.left > 0) {
      falling.left -= 1;
      out[at] = (falling.from * falling.left) / falling.over;
      at += 1;
    }
    out.fill(0, at);
  }
}
