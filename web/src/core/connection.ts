/** One connection to the server, with the streams on it. */

import type { LinkState } from "./api.ts";
import type { Channel } from "./channel.ts";
import { LegatoError } from "./failure.ts";
import type { AudioFrame } from "./frame.ts";
import { Lifeline } from "./lifeline.ts";
import type { Message, StreamStart } from "./messages.ts";
import type { Event } from "./session/events.ts";
import { NEVER } from "./session/lane.ts";
import type { Stream } from "./session/stream.ts";
import { shown, sizeOf } from "./traffic.ts";
import type { Wire } from "./wire.ts";

/** What the session tells, and what to do then. */
export class Connection extends Lifeline {
  #told: LinkState | undefined;

  /** Whether new streams may be opened here. */
  get usable(): boolean {
    return this.fault === undefined && !this.isDraining;
  }

  /** Whether another connection may be better than this one was. */
  get hasHope(): boolean {
    return this.fault?.isPassing ?? true;
  }

  /** Characters that the server takes in one utterance, once that is known. */
  get maxTextChars(): number {
    return this.session.welcome?.limits.max_text_chars ?? 20_000;
  }

  /** Open a stream; its input may be queued at once. */
  start<C extends Channel>(parameters: StreamStart, channelOf: (stream: Stream) => C): C {
    const stream = this.session.start(parameters);
    const channel = channelOf(stream);
    this.channels.set(stream, channel);
    this.watch();
    this.wake();
    return channel;
  }

  /** End a stream now and have its data deleted. */
  stop(stream: Stream): void {
    if (this.channels.delete(stream)) {
      this.session.stop(stream);
      this.settle();
      this.wake();
    }
  }

  /** Ask the server to send a stream at `rate` times real time. */
  pace(stream: Stream, rate: number): void {
    this.session.setPace(stream, rate);
    this.wake();
  }

  /** No more streams come: close when those that are here are over. */
  release(): void {
    this.isReleased = true;
    this.settle();
  }

  /** Close in good order: streams under way are stopped, and the server knows. */
  close(): void {
    for (const stream of [...this.channels.keys()]) {
      this.stop(stream);
    }
    this.pump();
    this.lose(new LegatoError("connection_lost", "the client was closed"));
  }

  protected override handleEvents(): void {
    for (const event of this.session.takeEvents()) {
      this.#handle(event);
    }
  }

  #handle(event: Event): void {
    switch (event.kind) {
      case "welcomed":
        this.watch();
        if (this.options.onRoundTrip) {
          this.probeAt = Math.min(this.probeAt, this.now());
        }
        break;
      case "answered":
        this.options.onRoundTrip?.(event.rtt);
        break;
      case "draining":
        this.isDraining = true;
        if (this.window > 0 && !this.redialing) {
          const sentence = `the server goes away in ${event.deadline} s`;
          this.seek(new LegatoError("draining", sentence), NEVER);
        }
        break;
      case "stalled":
        this.race(event.error);
        break;
      case "resume_refused":
      case "session_failed":
        this.part(event.error);
        break;
      case "paced":
        break; // the session obeys by itself
      default:
        this.#handleStream(event);
    }
  }

  #handleStream(event: Extract<Event, { stream: Stream }>): void {
    const channel = this.channels.get(event.stream);
    if (!channel) {
      return;
    }
    switch (event.kind) {
      case "opened":
        channel.opened(event.started);
        break;
      case "received":
        channel.received(event.items);
        break;
      case "recovered":
        channel.recovered();
        break;
      case "noticed":
        channel.noticed(event.notice);
        break;
      case "finished":
        this.channels.delete(event.stream);
        channel.finished(event.end, event.intact);
        break;
      case "failed":
        this.channels.delete(event.stream);
        channel.failed(event.error);
        break;
    }
  }

  protected override tellState(): void {
    const state = this.#linkState;
    if (state !== this.#told) {
      this.#told = state;
      this.options.onState(state);
    }
  }

  get #linkState(): LinkState {
    if (this.fault) {
      return "closed";
    }
    if (!this.session.welcome) {
      return "connecting";
    }
    return this.recovery.until < NEVER ? "recovering" : "open";
  }

  protected override tellTraffic(
    direction: "up" | "down",
    wire: Wire,
    entry: Message | AudioFrame,
    data: string | ArrayBuffer | Uint8Array,
  ): void {
    if (this.options.onTraffic) {
      const about = { now: this.now(), direction, connection: wire.number };
      const sizeBytes = sizeOf(data);
      this.options.onTraffic({ ...about, sizeBytes, ...shown(entry, this.session.streams) });
    }
  }
}
