/** The client's side of one connection: greeting, heartbeat, and what concerns no stream. */

import { encode } from "../codec.ts";
import { errorFrom, LegatoError } from "../failure.ts";
import { AudioFrame, encodeFrame } from "../frame.ts";
import type {
  ClientMessage,
  Draining,
  FlowControl,
  Pong,
  ServerMessage,
  Welcome,
} from "../messages.ts";
import type { Event } from "./events.ts";
import { NEVER } from "./lane.ts";
import { Pulse } from "./pulse.ts";
import { advance, LINK, type LinkSignal, type LinkState } from "./states.ts";
import type { Stream } from "./stream.ts";

/** Most bytes handed out by one `takeFrames`: what a socket may hold unsent. */
const ROOM_BYTES = 65_536;

/** A message as it goes over the wire, and what it says. */
export interface Outgoing {
  readonly data: string | Uint8Array<ArrayBuffer>;
  readonly entry: ClientMessage | AudioFrame;
}

/** What a server says about one stream. */
export type StreamNews = Exclude<
  ServerMessage,
  { type: "welcome" | "ping" | "pong" | "flow_control" | "draining" }
>;

/** The connection's half of a client's machine; `Session` adds the streams. */
export abstract class Link {
  /** State of the connection. */
  state: LinkState = "idle";
  /** Open streams by number. */
  readonly streams = new Map<number, Stream>();
  /** The server's last answer to hello. */
  welcome: Welcome | undefined;
  protected readonly pulse = new Pulse();
  protected token: string | undefined;
  protected rate: number | undefined;
  #outgoing: Outgoing[] = [];
  #events: Event[] = [];
  #turn = 0;

  /** Whether there is a connection that entries may leave by. */
  protected get up(): boolean {
    return this.state === "greeting" || this.state === "open";
  }

  /** Take what arrived; fails with a protocol error if the server breaks the rules. */
  receive(entry: ServerMessage | AudioFrame, now: number): void {
    this.pulse.hear(now);
    if (!this.up) {
      return;
    }
    if (entry instanceof AudioFrame) {
      this.receiveFrame(entry, now);
    } else {
      this.#receiveMessage(entry, now);
    }
  }

  /** Take what the application should know, in order. */
  takeEvents(): Event[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /**
   * Take what to send now, most urgent first.
   *
   * @param roomBytes Entries stop when about this much was taken; the rest waits for the next
   *   call, so that a cancel still finds it here.
   */
  takeFrames(now: number, roomBytes = ROOM_BYTES): Outgoing[] {
    const frames = this.#outgoing;
    this.#outgoing = [];
    if (!this.up) {
      return frames;
    }
    const sending = [...this.streams.values()].filter((stream) => stream.sending);
    for (const stream of sending) {
      if (now >= stream.ackAt) {
        frames.push(outgoing(stream.takeAck(now)));
      }
    }
    this.#takeInTurn(sending, frames, now, roomBytes);
    return frames;
  }

  /** Take one entry of each stream after the other, beginning with another one each time. */
  #takeInTurn(all: Stream[], frames: Outgoing[], now: number, roomBytes: number): void {
    this.#turn += this.streams.size > 1 ? 1 : 0;
    const first = this.#turn % Math.max(1, all.length);
    let waiting = [...all.slice(first), ...all.slice(0, first)];
    let room = roomBytes;
    while (waiting.length) {
      const still = [];
      for (const stream of waiting) {
        if (room <= 0) {
          return;
        }
        const frame = this.#takeFrom(stream, now);
        if (frame) {
          frames.push(frame);
          room -= frame.data.length;
          still.push(stream);
        }
      }
      waiting = still;
    }
  }

  #takeFrom(stream: Stream, now: number): Outgoing | undefined {
    const entry = stream.out.take(now);
    if (!entry) {
      return undefined;
    }
    if (!(entry instanceof AudioFrame)) {
      return outgoing(entry);
    }
    entry.stream = stream.number;
    entry.epoch = stream.epoch;
    return { data: encodeFrame(entry), entry };
  }

  /** When `handleTimer` wants to be called. */
  nextTimer(now: number): number {
    if (this.#outgoing.length) {
      return now;
    }
    const due = [...this.streams.values()].map((stream) => stream.nextTimer(now));
    return Math.min(this.#ownTimer(), ...due);
  }

  /** Act on what is due: a ping, or giving up on the answer to one. */
  handleTimer(now: number): void {
    if (now < this.#ownTimer()) {
      return;
    }
    if (!this.pulse.asking) {
      this.send(this.pulse.ask(now));
      return;
    }
    const isGreeting = this.state === "greeting";
    const what = isGreeting
      ? "the server does not answer hello"
      : `no answer for ${this.pulse.silence(now).toFixed(1)} s`;
    this.pulse.begin(now, isGreeting);
    this.tell({ kind: "stalled", error: new LegatoError("connection_lost", what) });
  }

  /** Ask for a pong, if none is owed. */
  ping(now: number): void {
    if (this.state === "open" && !this.pulse.asking) {
      this.send(this.pulse.ask(now));
    }
  }

  #ownTimer(): number {
    if (!this.up) {
      return NEVER;
    }
    return this.pulse.dueAt([...this.streams.values()].some((one) => one.state !== "suspended"));
  }

  protected abstract receiveFrame(frame: AudioFrame, now: number): void;

  protected abstract receiveStreamMessage(message: StreamNews, now: number): void;

  #receiveMessage(message: ServerMessage, now: number): void {
    switch (message.type) {
      case "welcome":
        this.receiveWelcome(message, now);
        break;
      case "ping":
        this.send({ type: "pong", id: message.id, time: message.time });
        break;
      case "pong":
        this.#receivePong(message, now);
        break;
      case "flow_control":
        this.#obey(message, now);
        this.tell({ kind: "paced", control: message });
        break;
      case "draining":
        this.receiveDraining(message);
        break;
      default:
        if (message.type === "error" && message.stream === undefined) {
          this.tell({ kind: "session_failed", error: errorFrom(message) });
        } else {
          this.receiveStreamMessage(message, now);
        }
    }
  }

  #receivePong(pong: Pong, now: number): void {
    const rtt = this.pulse.answered(pong, now);
    if (rtt !== undefined) {
      this.tell({ kind: "answered", rtt });
    }
  }

  protected receiveWelcome(welcome: Welcome, now: number): void {
    this.signal("greet");
    this.welcome = welcome;
    this.token = welcome.resume_token;
    this.pulse.heartbeat = welcome.heartbeat;
    this.pulse.begin(now, false);
    this.tell({ kind: "welcomed", welcome });
  }

  protected receiveDraining(draining: Draining): void {
    this.token = draining.resume_token ?? this.token;
    this.tell({ kind: "draining", deadline: draining.deadline });
  }

  /** Send at the pace that the peer asks for; one for all holds for later streams too. */
  #obey(control: FlowControl, now: number): void {
    if (control.stream === undefined) {
      this.rate = control.rate;
      for (const stream of this.streams.values()) {
        stream.out.setRate(control.rate, now);
      }
    } else {
      this.find(control.stream)?.out.setRate(control.rate, now);
    }
  }

  protected send(message: ClientMessage): void {
    this.#outgoing.push(outgoing(message));
  }

  protected forgetOutgoing(): void {
    this.#outgoing = [];
  }

  protected tell(event: Event): void {
    this.#events.push(event);
  }

  /** Leave out events of a stream that nobody wants to hear of any more. */
  protected untell(stream: Stream): void {
    this.#events = this.#events.filter((event) => !("stream" in event) || event.stream !== stream);
  }

  protected signal(signal: LinkSignal): void {
    this.state = advance(LINK, this.state, signal);
  }

  /** The stream of this number; 0 means the only one. */
  protected find(number: number): Stream | undefined {
    const [only] = this.streams.values();
    return this.streams.get(number) ?? (number === 0 && this.streams.size === 1 ? only : undefined);
  }
}

function outgoing(entry: ClientMessage): Outgoing {
  return { data: encode(entry), entry };
}
