/** What applications hold of their streams. */

import type {
  Echo,
  EchoOptions,
  Pcm,
  Recognition,
  RecognitionOptions,
  SpeechStream,
  StreamHandlers,
  Synthesis,
  SynthesisOptions,
} from "./api.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { LegatoError } from "./failure.ts";
import type { AudioFrame } from "./frame.ts";
import { guard } from "./guard.ts";
import type { Notice, StreamEnd, StreamStarted } from "./messages.ts";
import { countChars, type Item, isAudio } from "./session/lane.ts";
import type { Stream } from "./session/stream.ts";

/** Seconds of audio that may wait to be sent. */
const MAX_QUEUED = 600;

/** What all streams share. */
abstract class Handle implements SpeechStream, Channel {
  readonly stream: Stream;
  protected readonly connection: Connection;
  readonly #handlers: StreamHandlers;
  #isRecovering = false;
  protected isOver = false;

  constructor(stream: Stream, connection: Connection, handlers: StreamHandlers) {
    this.stream = stream;
    this.connection = connection;
    this.#handlers = handlers;
  }

  get id(): string {
    return this.stream.start.stream_id;
  }

  get number(): number {
    return this.stream.number;
  }

  pace(rate: number): void {
    this.act(() => this.connection.pace(this.stream, rate));
  }

  end(): void {
    this.act(() => {
      this.stream.finalize();
      this.stream.finish();
    });
  }

  stop(): void {
    this.isOver = true;
    this.connection.stop(this.stream);
  }

  flush(): void {
    this.act(() => this.stream.flush());
  }

  finalize(): void {
    this.act(() => this.stream.finalize());
  }

  cancel(playedUpto?: number): void {
    this.act(() => this.stream.cancel(this.stream.utterance, playedUpto));
  }

  /** Do something that may have to be sent; nothing, once the stream is over. */
  protected act(what: () => void): void {
    if (!this.isOver) {
      what();
      this.connection.wake();
    }
  }

  // told by the connection

  opened(started: StreamStarted): void {
    if (this.#isRecovering) {
      this.recovered();
    }
    guard(this.#handlers.onStarted)(started);
  }

  received(items: readonly Item[]): void {
    for (const item of items) {
      // A handler may have stopped the stream, or cancelled what comes next.
      if (!this.isOver && !this.stream.isCancelled(item)) {
        this.take(item);
      }
    }
  }

  recovering(): void {
    if (!this.#isRecovering) {
      this.#isRecovering = true;
      this.noticed({ type: "notice", stream: this.number, kind: "recovering" });
    }
  }

  recovered(): void {
    if (this.#isRecovering) {
      this.#isRecovering = false;
      this.noticed({ type: "notice", stream: this.number, kind: "restored" });
    }
    guard(this.#handlers.onResumed)({ recovered: true });
  }

  noticed(notice: Notice): void {
    guard(this.#handlers.onNotice)(notice);
  }

  finished(end: StreamEnd, intact: boolean): void {
    const ours = this.stream.heardDigest;
    this.isOver = true;
    guard(this.#handlers.onEnd)({
      frames: end.frames ?? 0,
      samples: end.samples ?? 0,
      digest: { theirs: end.digest ?? "", ours },
      verified: intact && end.digest !== undefined,
      up: this.stream.out.totals,
    });
  }

  failed(error: LegatoError): void {
    this.isOver = true;
    if (error.code === "resume_gap") {
      const { missing } = error.facts;
      guard(this.#handlers.onResumed)({ recovered: false, ...(missing && { missing }) });
    }
    guard(this.#handlers.onFailure)(error);
  }

  protected abstract take(item: Item): void;
}

/** Text goes up, audio comes down. */
export class SynthesisStream extends Handle implements Synthesis {
  readonly #options: SynthesisOptions;
  #isPlayed = false;
  #said = { utterance: -1, chars: 0 };

  constructor(stream: Stream, connection: Connection, options: SynthesisOptions) {
    super(stream, connection, options);
    this.#options = options;
  }

  say(text: string): void {
    this.act(() => {
      const { utterance } = this.stream;
      const before = utterance === this.#said.utterance ? this.#said.chars : 0;
      const chars = before + countChars(text);
      const most = this.connection.maxTextChars;
      if (chars > most) {
        throw new LegatoError(
          "text_too_long",
          `an utterance takes ${most} characters at most; say the rest in another`,
        );
      }
      this.stream.sendText(text);
      this.#said = { utterance, chars };
    });
  }

  played(upto: number, quality?: { underruns?: number; buffered?: number }): void {
    this.act(() => {
      const now = this.connection.now();
      const { underruns = 0, buffered } = quality ?? {};
      this.#isPlayed = true;
      this.stream.played(upto, now, quality && { stalls: underruns, buffered });
      this.stream.consumed(upto, now);
    });
  }

  protected override take(item: Item): void {
    if (isAudio(item)) {
      if (!this.#isPlayed) {
        consume(item, this.stream, this.connection);
      }
      tellAudio(item, this.#options.onAudio);
    } else if (item.type === "utterance_end") {
      guard(this.#options.onUtteranceEnd)(item);
    }
  }
}

/** Audio goes up, text comes down. */
export class RecognitionStream extends Handle implements Recognition {
  readonly #told: RecognitionOptions & EchoOptions;
  readonly #frame: Int16Array;
  #filled = 0;

  constructor(stream: Stream, connection: Connection, options: RecognitionOptions & EchoOptions) {
    super(stream, connection, options);
    this.#told = options;
    const { sample_rate, frame_ms = 20, channels } = stream.start;
    this.#frame = new Int16Array(Math.round((sample_rate * frame_ms) / 1000) * channels);
  }

  get queued(): number {
    return this.stream.out.queuedSamples / this.stream.start.sample_rate;
  }

  send(pcm: Int16Array): void {
    this.act(() => {
      if (this.queued > MAX_QUEUED) {
        throw new LegatoError(
          "rate_limited",
          `${MAX_QUEUED} s of audio wait to be sent; wait while \`queued\` grows`,
        );
      }
      this.#cut(pcm);
    });
  }

  /** Send the frames that are full. */
  #cut(pcm: Int16Array): void {
    for (let start = 0; start < pcm.length; ) {
      const piece = pcm.subarray(start, start + this.#frame.length - this.#filled);
      this.#frame.set(piece, this.#filled);
      this.#filled += piece.length;
      start += piece.length;
      if (this.#filled === this.#frame.length) {
        this.#sendFrame();
      }
    }
  }

  override end(): void {
    this.act(() => this.#sendFrame());
    super.end();
  }

  override flush(): void {
    this.act(() => this.#sendFrame());
    super.flush();
  }

  override finalize(): void {
    this.act(() => this.#sendFrame());
    super.finalize();
  }

  override cancel(): void {
    this.#filled = 0;
    super.cancel();
  }

  protected override take(item: Item): void {
    if (isAudio(item)) {
      consume(item, this.stream, this.connection);
      tellAudio(item, this.#told.onAudio);
    } else if (item.type === "transcript") {
      guard(this.#told.onTranscript)(item);
    } else if (item.type === "utterance_end") {
      guard(this.#told.onUtteranceEnd)(item);
    }
  }

  #sendFrame(): void {
    if (this.#filled) {
      const pcm = this.#frame.slice(0, this.#filled);
      this.#filled = 0;
      this.stream.sendAudio(new Uint8Array(pcm.buffer));
    }
  }
}

/** What is said comes back. */
export class EchoStream extends RecognitionStream implements Echo {}

/** What a handler was given counts as taken, and gives credit. */
function consume(frame: AudioFrame, stream: Stream, connection: Connection): void {
  stream.consumed(frame.sample + frame.payload.length / stream.sampleBytes, connection.now());
}

function tellAudio(frame: AudioFrame, handler: ((audio: Pcm) => void) | undefined): void {
  if (handler && frame.payload.length) {
    // A copy: samples must be aligned, and a view would keep the whole message.
    const pcm = new Int16Array(frame.payload.slice().buffer);
    guard(handler)({ pcm, sample: frame.sample, utterance: frame.utterance });
  }
}
