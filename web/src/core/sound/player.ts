/** A loudspeaker for streams: the playout buffer in an AudioWorklet, and what it tells. */

import {
  addWorklet,
  heardAt,
  makeContext,
  monotonic,
  resume,
  type SoundState,
  soundState,
} from "./context.ts";
import { SILENCE } from "./meter.ts";
import type { PlayerNews, PlayerOrder, Standing } from "./ports.ts";
import { PLAYOUT } from "./scope.ts";
import type { StartOptions } from "./start.ts";
import { playoutUrl } from "./worklets.ts";

/** All are called from the event loop; instants are seconds of `performance.now()`. */
export interface PlayerHandlers {
  /** Some ten times a second while something plays, and on every change of state. */
  readonly onStanding?: (standing: Standing) => void;
  /**
   * Once a stream: `played` is when its first sample reached the loudspeaker, `audible` the first
   * one above -60 dB of full scale. Both may lie ahead by the latency of the device.
   */
  readonly onAudible?: (heard: { played: number; audible: number }) => void;
  /** All that was pushed before `end` is rendered. */
  readonly onFinished?: (finished: { instant: number; playedUpto: number }) => void;
  readonly onSound?: (state: SoundState) => void;
}

export interface PlayerOptions extends PlayerHandlers {
  /** Hz; without it the device's own. */
  readonly sampleRate?: number;
  /** What is expected of the network before anything was heard; default: a server that leads. */
  readonly start?: StartOptions;
  /** Address of the built worklet, for pages that are built otherwise. */
  readonly workletUrl?: string;
}

/** How one stream is played. */
export interface PlayOptions {
  /** Seconds to hold before playing; without it as much as the network has shown to need. */
  readonly depth?: number;
  /** Fades around gaps; off, what is rendered is bit for bit what was pushed. Default: on. */
  readonly effects?: boolean;
  /** Hash what is rendered, for `digest()`. Default: off. */
  readonly tap?: boolean;
}

const NOTHING: Standing = {
  frame: 0,
  state: "filling",
  playedUpto: 0,
  buffered: 0,
  depth: 0,
  stalls: 0,
  stalled: 0,
  late: 0,
  dropped: 0,
  level: SILENCE,
};

/** Seconds that an answer of the worklet is waited for. */
const ANSWER_WAIT = 2;

/**
 * Plays one stream after another. In the click: `open()`, then at once `begin()` and `push()`; what
 * is pushed before the worklet is loaded waits for it.
 */
export class Player {
  readonly #options: PlayerOptions;
  #context: AudioContext | null = null;
  #node: AudioWorkletNode | null = null;
  #opening: Promise<void> | null = null;
  #early: { order: PlayerOrder; transfer: Transferable[] }[] = [];
  #run = 0;
  #pushedUpto = 0;
  #position = 0;
  #answers: { kind: PlayerNews["kind"]; take: (news: PlayerNews | null) => void }[] = [];
  /** The last that the worklet told of this stream. */
  standing: Standing = NOTHING;

  constructor(options: PlayerOptions = {}) {
    this.#options = options;
  }

  get sound(): SoundState {
    return soundState(this.#context);
  }

  /** Hz to ask streams for; known from the call of `open` on, 0 before. */
  get sampleRate(): number {
    return this.#context?.sampleRate ?? 0;
  }

  /** Seconds from rendering to the ear, as the browser estimates them. */
  get latency(): number {
    return this.#context?.outputLatency || this.#context?.baseLatency || 0;
  }

  /** Seconds of audio that wait, as last told. */
  get buffered(): number {
    return this.standing.buffered;
  }

  get stalls(): number {
    return this.standing.stalls;
  }

  /** Position after the last sample that was heard, between two standings by the clock. */
  get position(): number {
    const { frame, playedUpto, state } = this.standing;
    const context = this.#context;
    if (context === null) return 0;
    const since = monotonic() - heardAt(context, frame / context.sampleRate);
    const heard = playedUpto + since * context.sampleRate;
    const most = state === "playing" ? this.#pushedUpto : playedUpto;
    this.#position = Math.max(this.#position, Math.min(Math.floor(heard), most));
    return this.#position;
  }

  /**
   * Make the sound ready; call it inside the handler of the click, as often as you like.
   *
   * @throws SoundError `insecure_origin`, `unsupported`, `not_loaded` or `sound_suspended`.
   */
  async open(): Promise<void> {
    this.#context ??= this.#make();
    this.#opening ??= this.#load(this.#context).catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    await Promise.all([resume(this.#context), this.#opening]);
  }

  /** Begin a stream: what was before is dropped, positions start at 0 again. */
  begin({ depth, effects = true, tap = false }: PlayOptions = {}): void {
    this.#run += 1;
    for (const { take } of this.#answers.splice(0)) take(null);
    this.#pushedUpto = 0;
    this.#position = 0;
    this.standing = NOTHING;
    this.#send({ kind: "begin", run: this.#run, depth: depth ?? null, effects, tap });
  }

  /**
   * Play `pcm` after what was pushed before it.
   *
   * @param pcm At `sampleRate` Hz, one channel; copied.
   * @param sample Position of its first sample in the stream.
   */
  push(pcm: Int16Array, sample: number): void {
    const copy = pcm.slice().buffer;
    this.#pushedUpto = Math.max(this.#pushedUpto, sample + pcm.length);
    this.#send({ kind: "push", pcm: copy, sample, now: monotonic() }, [copy]);
  }

  /** The utterance is whole: play what there is; what is pushed next begins another one. */
  end(): void {
    this.#send({ kind: "end" });
  }

  /**
   * Fall silent: nothing that was pushed, or is still to come before `upto`, is played any more.
   *
   * @returns From when on nothing is heard, in seconds of `performance.now()`.
   */
  async stop(upto = 0): Promise<number> {
    const context = this.#context;
    this.#early = this.#early.filter(({ order }) => order.kind !== "push");
    if (context === null || this.#node === null) return monotonic();
    const silent = this.#answer("silent");
    this.#send({ kind: "stop", upto: Math.max(upto, this.#pushedUpto) });
    const news = await silent;
    return news?.kind === "silent"
      ? heardAt(context, news.frame / context.sampleRate)
      : monotonic();
  }

  /** SHA-256 of the samples rendered since `begin`, as 16 bit little endian; needs `tap`. */
  async digest(): Promise<{ sha256: string; samples: number } | null> {
    const answer = this.#answer("digest");
    this.#send({ kind: "digest" });
    const news = await answer;
    return news?.kind === "digest" ? { sha256: news.sha256, samples: news.samples } : null;
  }

  /** Give the device back. */
  async close(): Promise<void> {
    const context = this.#context;
    if (context === null) return;
    this.#send({ kind: "close" });
    this.#node?.disconnect();
    this.#node = null;
    this.#context = null;
    this.#opening = null;
    this.#early = [];
    await context.close();
    this.#options.onSound?.("closed");
  }

  #make(): AudioContext {
    const context = makeContext(false, this.#options.sampleRate);
    context.onstatechange = () => {
      if (this.#context === context) this.#options.onSound?.(soundState(context));
    };
    return context;
  }

  async #load(context: AudioContext): Promise<void> {
    await addWorklet(context, this.#options.workletUrl ?? playoutUrl);
    if (this.#context !== context) return;
    const node = new AudioWorkletNode(context, PLAYOUT, {
      numberOfInputs: 0,
      outputChannelCount: [1],
    });
    node.port.onmessage = ({ data }: MessageEvent<PlayerNews>) => this.#hear(data);
    node.connect(context.destination);
    this.#node = node;
    if (this.#options.start) this.#send({ kind: "learn", start: this.#options.start });
    for (const { order, transfer } of this.#early) node.port.postMessage(order, transfer);
    this.#early = [];
  }

  #send(order: PlayerOrder, transfer: Transferable[] = []): void {
    if (this.#node) this.#node.port.postMessage(order, transfer);
    else this.#early.push({ order, transfer });
  }

  #answer(kind: PlayerNews["kind"]): Promise<PlayerNews | null> {
    return new Promise((resolve) => {
      const answer = { kind, take: (news: PlayerNews | null) => resolve(news) };
      const timer = setTimeout(() => {
        this.#answers = this.#answers.filter((other) => other !== answer);
        resolve(null);
      }, ANSWER_WAIT * 1000);
      answer.take = (news) => {
        clearTimeout(timer);
        resolve(news);
      };
      this.#answers.push(answer);
    });
  }

  #hear(news: PlayerNews): void {
    const context = this.#context;
    if (news.run !== this.#run || context === null) return;
    const answer = this.#answers.findIndex(({ kind }) => kind === news.kind);
    if (answer >= 0) this.#answers.splice(answer, 1)[0]?.take(news);
    const instant = (frame: number) => heardAt(context, frame / context.sampleRate);
    if (news.kind === "standing") {
      this.standing = news;
      this.#options.onStanding?.(news);
    } else if (news.kind === "audible") {
      const [played, audible] = [instant(news.playedFrame), instant(news.audibleFrame)];
      this.#options.onAudible?.({ played, audible });
    } else if (news.kind === "finished") {
      const { playedUpto, frame } = news;
      this.#options.onFinished?.({ playedUpto, instant: instant(frame) });
    }
  }
}
