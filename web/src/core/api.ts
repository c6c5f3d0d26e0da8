/**
 * What applications see: one client, its streams, and what they tell.
 *
 * Durations are seconds, positions are samples at the stream's rate, instants come from one
 * monotonic clock in seconds (`performance.now() / 1000`).
 */

import type { LegatoError } from "./failure.ts";
import type { Message, Notice, StreamStarted, Transcript, UtteranceEnd } from "./messages.ts";

/** `connecting` until the first welcome, `recovering` while streams look for another connection. */
export type LinkState = "connecting" | "open" | "recovering" | "closed";

/** One message or frame that passed; the payload of audio is not kept. */
export interface Traffic {
  readonly now: number;
  readonly direction: "up" | "down";
  /** Which connection of this client, from 1. */
  readonly connection: number;
  readonly sizeBytes: number;
  /** A key in `hello.auth` is left out. */
  readonly message?: Message;
  readonly audio?: {
    readonly stream: number;
    readonly seq: number;
    readonly sample: number;
    readonly samples: number;
    readonly utterance: number;
    readonly last: boolean;
  };
}

/** What is needed of `WebSocket`. */
export type SocketClass = new (url: string, protocols: string[]) => WebSocket;

export interface ClientOptions {
  /** `ws://`, `wss://`, `http://` or `https://` with host; default: `v1/stream` beside the page. */
  readonly url?: string;
  /** Sent as `hello.auth`, and as a bearer token over HTTP. */
  readonly auth?: string;
  /** How delays between attempts grow while streams look for another connection. */
  readonly reconnect?: "interactive" | "articles" | "never";
  /** Seconds for the first connection and its welcome; 10 unless told otherwise. */
  readonly connectTimeout?: number;
  /** Default: the global one, which Node has from version 22 on. */
  readonly webSocket?: SocketClass;
  readonly onState?: (state: LinkState) => void;
  readonly onTraffic?: (traffic: Traffic) => void;
  /** A new round-trip time in seconds, about every 5 s while connected. */
  readonly onRoundTrip?: (seconds: number) => void;
}

/** An error of the server or the connection, with the stable code of the errors page. */
export type Failure = LegatoError;

/** What every stream may tell; each is called from the event loop, never inside another call. */
export interface StreamHandlers {
  readonly onStarted?: (started: StreamStarted) => void;
  /** `recovering` and `restored` come from this side too, when the connection is lost. */
  readonly onNotice?: (notice: Notice) => void;
  /**
   * It goes on over another connection, or with a server that had lost it, and nothing is missing;
   * or it cannot (`recovered` is false), for `missing` is kept by neither side, and fails.
   */
  readonly onResumed?: (resumed: {
    readonly recovered: boolean;
    /** From and to, in samples, or in `seq` for text. */
    readonly missing?: readonly [number, number];
  }) => void;
  /** Everything was delivered; digests are hex, `verified` whether both ends agree. */
  readonly onEnd?: (end: StreamTotals) => void;
  /** The stream is over; other streams go on. */
  readonly onFailure?: (failure: Failure) => void;
}

export interface StreamTotals {
  /** Audio frames that the server sent (of the last epoch), and where they ended. */
  readonly frames: number;
  readonly samples: number;
  /** Digest chain over payloads down, as the server says and as this side counted. */
  readonly digest: { readonly theirs: string; readonly ours: string };
  /** Whether the two are the same. */
  readonly verified: boolean;
  /**
   * What went up (in the last epoch); the server was told, and would have failed the stream had it
   * received something else.
   */
  readonly up: { readonly frames: number; readonly samples: number; readonly digest: string };
}

/** What all streams may be told at their start. */
export interface StreamOptions extends StreamHandlers {
  /** Hz; 16,000 unless told otherwise (24,000 for synthesis). */
  readonly sampleRate?: number;
  /** Milliseconds of a full frame, 10 to 200; 20 unless told otherwise. */
  readonly frameMs?: number;
}

export interface SynthesisOptions extends StreamOptions {
  readonly engine?: string;
  readonly voice?: string;
  readonly language?: string;
  readonly speed?: number;
  readonly streaming?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly onAudio?: (audio: Pcm) => void;
  readonly onUtteranceEnd?: (end: UtteranceEnd) => void;
}

/** PCM in order, each sample once. */
export interface Pcm {
  /** Yours to keep. */
  readonly pcm: Int16Array<ArrayBuffer>;
  /** Position of the first sample. */
  readonly sample: number;
  readonly utterance: number;
}

export interface RecognitionOptions extends StreamOptions {
  readonly engine?: string;
  readonly language?: string;
  /** Silence in seconds that ends a segment; null leaves that to `finalize`. */
  readonly endpointing?: { readonly silence?: number | null; readonly threshold?: number };
  readonly hotwords?: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly onTranscript?: (transcript: Transcript) => void;
  readonly onUtteranceEnd?: (end: UtteranceEnd) => void;
}

/** Audio that comes back as it went. */
export interface EchoOptions extends StreamOptions {
  readonly onAudio?: (audio: Pcm) => void;
  readonly onUtteranceEnd?: (end: UtteranceEnd) => void;
}

/** Once a stream is over, what is asked of it is ignored. */
export interface SpeechStream {
  readonly id: string;
  /** Its number in `Traffic`. */
  readonly number: number;
  /** Ask the server to send at `rate` times real time; 0 pauses audio. */
  pace(rate: number): void;
  /** No more input; `onEnd` follows when all is delivered. */
  end(): void;
  /** End now; the server deletes all data of the stream, and no handler is called any more. */
  stop(): void;
}

export interface Synthesis extends SpeechStream {
  /** A piece of text, joined to the ones before as it is. */
  say(text: string): void;
  /** Speak what is there; the utterance goes on. */
  flush(): void;
  /** End the utterance; what is said next opens another. */
  finalize(): void;
  /**
   * Stop everything said so far; no `onAudio` of it follows. New text may be said at once.
   *
   * @param playedUpto Position after the last sample that the listener heard.
   */
  cancel(playedUpto?: number): void;
  /**
   * Tell the server how far the listener has heard and what that was like.
   *
   * Who calls this gets no more than 30 s of audio ahead of it; else what `onAudio` took counts.
   *
   * @param upto Position after the last sample heard.
   * @param quality Underruns so far, and seconds of audio that wait to be played.
   */
  played(upto: number, quality?: { underruns?: number; buffered?: number }): void;
}

export interface Recognition extends SpeechStream {
  /** Seconds of audio that were not sent yet: wait while it grows. */
  readonly queued: number;
  /**
   * Whole samples; queued and sent in frames as credit and pace allow.
   *
   * Fails with `rate_limited` while 600 s are queued.
   */
  send(pcm: Int16Array): void;
  /** Make final what was heard; the utterance goes on. */
  flush(): void;
  /** End the utterance. */
  finalize(): void;
  /** Forget what was said since the last final. */
  cancel(): void;
}

export type Echo = Recognition;

/** A voice that can be used now. */
export interface Voice {
  readonly name: string;
  readonly engine: string;
  /** BCP 47 tags. */
  readonly languages: readonly string[];
  readonly gender?: string;
  readonly description?: string;
}

/** An engine of the server, whether it can be used or not. */
export interface Engine {
  readonly kind: "synthesize" | "recognize";
  readonly name: string;
  readonly state: "loading" | "ready" | "unavailable";
  /** Whether it is chosen where none is named. */
  readonly default: boolean;
  readonly version: string;
  /** Its own, in Hz; absent if it takes any. */
  readonly sample_rate?: number;
  /** BCP 47 tags; empty means any. */
  readonly languages: readonly string[];
  readonly voices: readonly Voice[];
  /** Streams that it serves at once. */
  readonly slots: number;
  readonly deterministic: boolean;
  /** Why it is unavailable, and what to do. */
  readonly reason?: string;
}

/** A process of the cluster. */
export interface Node {
  readonly role: "gateway" | "worker";
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly state: "loading" | "ready" | "draining";
  /** Unix time in seconds. */
  readonly started: number;
  /** Seconds by which the event loop was late at worst, in the last second. */
  readonly loop_lag: number;
  readonly streams: number;
  readonly connections: number;
  /** Resident, without engine processes; null where the system does not tell. */
  readonly memory_bytes?: number | null;
  readonly engines: readonly {
    readonly kind: string;
    readonly name: string;
    readonly state: string;
    readonly busy: number;
    readonly slots: number;
  }[];
}

/** A stream that a worker holds. */
export interface Lease {
  readonly tenant: string;
  readonly stream_id: string;
  readonly engine: string;
  readonly worker: string;
  /** Seconds since the worker took it. */
  readonly age: number;
  readonly deliveries: number;
}

export interface Cluster {
  readonly gateways: readonly Node[];
  readonly workers: readonly Node[];
  readonly leases: readonly Lease[];
  /** How many leases there are, of all tenants. */
  readonly held: number;
  /** Streams that no worker has taken yet, by engine. */
  readonly waiting: Readonly<Record<string, number>>;
  readonly streams: number;
}
