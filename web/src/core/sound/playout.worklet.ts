/** The playout buffer in the audio thread, where neither a busy page nor a hidden tab stops it. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

import { Meter } from "./meter.ts";
import { Playout, type PlayoutState } from "./playout.ts";
import type { PlayerNews, PlayerOrder } from "./ports.ts";
import { PLAYOUT, scope } from "./scope.ts";
import { AdaptiveStart } from "./start.ts";

/** How playing stands is told so many times a second while it changes. */
const STANDINGS = 10;

type Tell = PlayerNews extends infer News
  ? News extends unknown
    ? Omit<News, "run">
    : never
  : never;

/** What the page knows already. */
interface Told {
  audible: boolean;
  finished: boolean;
  silent: boolean;
  state: PlayoutState;
}

/** Hash of the rendered samples as 16 bit little endian. */
class Tap {
  readonly #hash = sha256.create();
  samples = 0;

  add(sound: Float32Array): void {
    const pcm = Int16Array.from(sound, (value) => Math.round(value * 32768));
    this.#hash.update(new Uint8Array(pcm.buffer));
    this.samples += sound.length;
  }

  get sha256(): string {
    return bytesToHex(this.#hash.clone().digest());
  }
}

class PlayoutProcessor extends scope.AudioWorkletProcessor {
  #start = new AdaptiveStart({ lead: true });
  #playout = this.#made(null, true);
  #before: Playout | null = null;
  #tap: Tap | null = null;
  readonly #meter = new Meter();
  #run = 0;
  /** Frame of the context at which this run began to be rendered. */
  #began = 0;
  #toldAt = 0;
  #told: Told = { audible: true, finished: true, silent: true, state: "filling" };
  #closed = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<PlayerOrder>) => this.#obey(data);
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const out = outputs[0]?.[0];
    if (out === undefined) return !this.#closed;
    const faded = this.#playout.isFading;
    if (this.#playout.rendered === 0) this.#began = scope.currentFrame;
    const played = this.#playout.render(out);
    this.#tap?.add(out.subarray(0, played));
    this.#leave(out);
    this.#meter.add(out);
    this.#report(scope.currentFrame + (faded ? out.length : 0), played > 0);
    return !this.#closed;
  }

  /** Let the fade of the stream before sound out. */
  #leave(out: Float32Array): void {
    if (!this.#before?.isFading) return;
    const fade = new Float32Array(out.length);
    this.#before.render(fade);
    for (let at = 0; at < out.length; at += 1) out[at] = (out[at] ?? 0) + (fade[at] ?? 0);
  }

  #obey(order: PlayerOrder): void {
    const playout = this.#playout;
    if (order.kind === "begin") this.#begin(order);
    else if (order.kind === "learn") this.#start = new AdaptiveStart(order.start);
    else if (order.kind === "push") {
      playout.push(new Int16Array(order.pcm), order.sample, order.now);
      this.#told.finished = false;
    } else if (order.kind === "end") {
      playout.end();
      this.#told.finished = false;
    } else if (order.kind === "stop") {
      playout.clear(order.upto);
      this.#told = { ...this.#told, finished: true, silent: false };
    } else if (order.kind === "digest") {
      const tap = this.#tap ?? new Tap();
      this.#tell({ kind: "digest", sha256: tap.sha256, samples: tap.samples });
    } else this.#closed = true;
  }

  #begin({ run, depth, effects, tap }: PlayerOrder & { kind: "begin" }): void {
    this.#run = run;
    this.#playout.clear();
    this.#before = this.#playout;
    this.#playout = this.#made(depth, effects);
    this.#toldAt = 0;
    this.#tap = tap ? new Tap() : null;
    this.#told = { audible: false, finished: true, silent: true, state: "filling" };
  }

  #made(depth: number | null, effects: boolean): Playout {
    return new Playout({ sampleRate: scope.sampleRate, depth: depth ?? this.#start, effects });
  }

  #report(quietFrom: number, sounds: boolean): void {
    const { state, buffered, isFinished, isFading, playedUpto, rendered } = this.#playout;
    const { playedAt, audibleAt } = this.#playout;
    if (!this.#told.audible && playedAt !== null && audibleAt !== null) {
      this.#told.audible = true;
      const [playedFrame, audibleFrame] = [this.#began + playedAt, this.#began + audibleAt];
      this.#tell({ kind: "audible", playedFrame, audibleFrame });
    }
    if (!this.#told.silent && !isFading) {
      this.#told.silent = true;
      this.#stand();
      this.#tell({ kind: "silent", frame: quietFrom });
    }
    const finished = !this.#told.finished && isFinished;
    const due = rendered - this.#toldAt >= scope.sampleRate / STANDINGS;
    const changed = this.#told.state !== state;
    if (finished || changed || (due && (sounds || buffered > 0))) this.#stand();
    if (finished) {
      this.#told.finished = true;
      this.#tell({ kind: "finished", frame: quietFrom, playedUpto });
    }
  }

  #stand(): void {
    const { state, playedUpto, buffered, depth, stalls, stalled, late, dropped } = this.#playout;
    this.#toldAt = this.#playout.rendered;
    this.#told.state = state;
    const frame = this.#began + this.#playout.rendered;
    const level = this.#meter.take();
    const counts = { state, playedUpto, buffered, depth, stalls, stalled, late, dropped };
    this.#tell({ kind: "standing", frame, ...counts, level });
  }

  #tell(news: Tell): void {
    this.port.postMessage({ ...news, run: this.#run });
  }
}

scope.registerProcessor(PLAYOUT, PlayoutProcessor);
