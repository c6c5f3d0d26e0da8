/** A session and the socket that it speaks over, which is replaced when it is no good any more. */

import type { Channel } from "./channel.ts";
import { LegatoError } from "./failure.ts";
import { PROFILES } from "./flow/backoff.ts";
import type { AudioFrame } from "./frame.ts";
import type { Message, ServerMessage } from "./messages.ts";
import type { ConnectionOptions } from "./options.ts";
import { Recovery } from "./recovery.ts";
import { NEVER } from "./session/lane.ts";
import { Session } from "./session/session.ts";
import type { Stream } from "./session/stream.ts";
import { faultOf, Wire, type WireOwner } from "./wire.ts";

/** Seconds that the answer to a ping may take before a second socket is tried. */
const PING_GRACE = 0.5;

/** Seconds between looks at a socket whose buffer is full: browsers do not tell when it is not. */
const DRAIN_EVERY = 0.02;

/** Seconds between measurements of the round trip. */
const PROBE_EVERY = 5;

/** Longest wait of a timer in seconds; later ones are asked for again. */
const LONGEST = 3600;

/**
 * A session and its sockets; `Connection` adds what the session tells.
 *
 * There are two sockets at the most: while the old one may still be good, or until the streams
 * have arrived on the new one.
 */
export abstract class Lifeline implements WireOwner {
  protected readonly options: ConnectionOptions;
  protected readonly session: Session;
  protected readonly channels = new Map<Stream, Channel>();
  protected readonly recovery: Recovery;
  #wire: Wire | undefined;
  #old: Wire | undefined;
  protected redialing: AbortController | undefined;
  protected fault: LegatoError | undefined;
  protected isDraining = false;
  protected isReleased = false;
  #isWoken = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #armedFor = NEVER;
  #beganAt = 0;
  #heardAt = 0;
  #watchedAt = 0;
  #isWatched = false;
  protected probeAt = NEVER;

  constructor(options: ConnectionOptions) {
    this.options = options;
    this.session = new Session(options.hello);
    this.recovery = new Recovery({
      dial: options.dial,
      profile: options.profile ?? PROFILES.interactive,
      random: Math.random,
      now: options.now,
    });
  }

  /** Make the first connection. */
  begin(): void {
    this.#beganAt = this.now();
    this.tellState();
    void this.#connect();
  }

  now(): number {
    return this.options.now();
  }

  /** Something is to be sent, or a timer may have moved. */
  wake(): void {
    if (!this.#isWoken) {
      this.#isWoken = true;
      queueMicrotask(() => this.pump());
    }
  }

  // what a wire tells

  heard(wire: Wire, entry: ServerMessage | AudioFrame, data: string | ArrayBuffer): void {
    if (wire !== this.#wire) {
      return; // what a replaced wire still brings comes again on the new one
    }
    this.#heardAt = this.now();
    this.tellTraffic("down", wire, entry, data);
    if (this.redialing && !this.isDraining) {
      this.#stopRedialing(); // this socket has won the race
    }
    this.session.receive(entry, this.#heardAt);
    this.handleEvents();
    this.settle();
    this.wake();
  }

  lost(wire: Wire, error: LegatoError): void {
    if (wire === this.#wire) {
      this.part(error);
    }
  }

  broken(wire: Wire, error: LegatoError): void {
    if (wire === this.#wire) {
      this.lose(error);
    }
  }

  // sending

  protected pump(): void {
    this.#isWoken = false;
    try {
      this.#handleTimers();
      this.#sendDue();
    } catch (error) {
      this.lose(faultOf(error));
    }
  }

  #handleTimers(): void {
    const now = this.now();
    if (this.#wire && now >= this.session.nextTimer(now)) {
      this.session.handleTimer(now);
      this.handleEvents();
    }
    if (now >= this.probeAt) {
      this.probeAt = now + PROBE_EVERY;
      this.session.ping(now);
    }
    if (this.#isWatched && now >= this.#silentAt) {
      this.#look(now);
    }
  }

  #sendDue(): void {
    for (let wire = this.#wire; wire; wire = this.#wire) {
      const room = wire.roomBytes;
      if (room <= 0) {
        this.#arm(this.now() + DRAIN_EVERY);
        return;
      }
      const frames = this.session.takeFrames(this.now(), room);
      if (!frames.length) {
        break;
      }
      for (const frame of frames) {
        wire.send(frame);
        this.tellTraffic("up", wire, frame.entry, frame.data);
      }
    }
    const due = this.#wire ? this.session.nextTimer(this.now()) : NEVER;
    this.#arm(Math.min(due, this.probeAt, this.#isWatched ? this.#silentAt : NEVER));
  }

  /** Look again at `at`; a timer that goes off sooner stays, as making one for each frame costs. */
  #arm(at: number): void {
    if (at >= this.#armedFor || this.fault) return;
    clearTimeout(this.#timer);
    this.#armedFor = at;
    const wait = Math.min(Math.max(0, at - this.now()), LONGEST);
    const ring = (): void => {
      this.#armedFor = NEVER;
      this.wake();
    };
    this.#timer = setTimeout(ring, Math.ceil(wait * 1000));
  }

  // from socket to socket

  async #connect(): Promise<void> {
    const redialing = new AbortController();
    this.redialing = redialing;
    try {
      const socket = await this.recovery.dial(this.options.connectTimeout, redialing.signal);
      if (redialing.signal.aborted) {
        socket.close();
        return;
      }
      this.redialing = undefined;
      this.#attach(socket);
    } catch (error) {
      this.lose(faultOf(error));
    }
  }

  #attach(socket: WebSocket): void {
    this.#heardAt = this.now();
    this.session.connected(this.#heardAt);
    this.#wire = new Wire(socket, this.options.count(), this);
    this.isDraining = false;
    this.wake();
  }

  /** The socket is gone, or no good any more; the streams wait for another one. */
  protected part(error: LegatoError): void {
    const window = this.window || this.#patience;
    if (window <= 0 || !error.isPassing) {
      this.lose(error);
      return;
    }
    this.#retire();
    this.session.disconnected();
    this.handleEvents();
    if (!this.channels.size) {
      this.lose(error);
      return;
    }
    for (const channel of this.channels.values()) {
      channel.recovering();
    }
    if (this.recovery.until === NEVER) {
      // What was under way was a move without haste.
      this.#stopRedialing();
      this.recovery.end();
    }
    this.seek(error, window);
  }

  /** The socket is silent: look for another one, and see which is the first to speak. */
  protected race(cause: LegatoError): void {
    if (this.window <= 0 || !this.channels.size) {
      this.lose(cause);
    } else if (!this.redialing || this.recovery.until === NEVER) {
      this.seek(cause, this.window);
    }
  }

  protected seek(cause: LegatoError, window: number): void {
    if (!this.channels.size || this.fault) {
      return;
    }
    this.recovery.begin(cause, window);
    if (!this.redialing) {
      void this.#redial();
    }
    this.tellState();
    this.wake();
  }

  async #redial(): Promise<void> {
    const redialing = new AbortController();
    this.redialing = redialing;
    try {
      const socket = await this.recovery.redial(redialing.signal);
      if (redialing.signal.aborted) {
        socket.close();
        return;
      }
      this.redialing = undefined;
      this.#replace(socket);
    } catch (error) {
      if (!redialing.signal.aborted) {
        this.redialing = undefined;
        this.#giveUp(faultOf(error));
      }
    }
  }

  #replace(socket: WebSocket): void {
    if (this.#wire) {
      this.#old?.close();
      this.#old = this.#wire;
      this.#wire = undefined;
      this.session.disconnected();
      this.handleEvents();
    }
    this.#attach(socket);
  }

  #giveUp(error: LegatoError): void {
    if (!this.#wire || this.recovery.until < NEVER) {
      this.lose(error);
    } else {
      this.recovery.end(); // a move: the streams may still end where they are
    }
  }

  #stopRedialing(): void {
    this.redialing?.abort();
    this.redialing = undefined;
  }

  /** See whether the trouble is over. */
  protected settle(): void {
    if (this.recovery.underWay && !this.fault) {
      if (!this.channels.size && !this.#wire) {
        this.lose(this.recovery.cause ?? new LegatoError("connection_lost", "nothing is open"));
      } else if (!this.channels.size) {
        this.#stopRedialing();
        this.#endRecovery();
      } else if (!this.redialing && this.#isSettled) {
        this.#endRecovery();
      }
    }
    if ((this.isDraining || this.isReleased) && !this.channels.size) {
      this.lose(new LegatoError("draining", "the server goes away"));
    }
    this.tellState();
  }

  #endRecovery(): void {
    this.recovery.end();
    this.#old?.close();
    this.#old = undefined;
  }

  get #isSettled(): boolean {
    const streams = [...this.session.streams.values()];
    return (
      this.session.state === "open" &&
      !streams.some((stream) => stream.state === "suspended" || stream.state === "resuming")
    );
  }

  /** The connection is over; its streams end with it. */
  protected lose(error: LegatoError): void {
    if (this.fault) {
      return;
    }
    this.fault = error;
    clearTimeout(this.#timer);
    this.#stopRedialing();
    this.#retire();
    this.#old?.close();
    const channels = [...this.channels.values()];
    this.channels.clear();
    for (const channel of channels) {
      channel.failed(error);
    }
    this.tellState();
  }

  #retire(): void {
    const wire = this.#wire;
    this.#wire = undefined;
    wire?.close();
  }

  /** Seconds left for the first welcome: streams that the server does not know begin again. */
  get #patience(): number {
    const { profile, connectTimeout } = this.options;
    const isNew = profile !== undefined && !this.session.welcome;
    return isNew ? Math.max(0, this.#beganAt + connectTimeout - this.now()) : 0;
  }

  /** Seconds that streams can be resumed for, as the client wants it and the server can. */
  protected get window(): number {
    return this.options.profile ? (this.session.welcome?.limits.resume_window ?? 0) : 0;
  }

  // watching over the socket

  /** The session asks for signs of life too, but who writes may be held by a full buffer. */
  protected watch(): void {
    if (!this.#isWatched && this.window > 0 && this.channels.size) {
      this.#isWatched = true;
      this.#watchedAt = this.now();
    }
  }

  get #silentAt(): number {
    const active = this.session.welcome?.heartbeat.active ?? NEVER;
    return Math.max(this.#heardAt, this.#watchedAt) + active + PING_GRACE;
  }

  #look(now: number): void {
    this.#isWatched = this.channels.size > 0;
    if (!this.#isWatched) {
      return;
    }
    if (!this.redialing && now >= this.recovery.until) {
      this.lose(this.recovery.givenUp());
      return;
    }
    if (this.#wire) {
      const silence = (now - this.#heardAt).toFixed(1);
      this.race(new LegatoError("connection_lost", `no sign of life for ${silence} s`));
    }
    this.#watchedAt = now;
  }

  /** Take the session's events and do what they call for. */
  protected abstract handleEvents(): void;

  /** Tell the state of the link, if it is another one. */
  protected abstract tellState(): void;

  /** Tell of what passes. */
  protected abstract tellTraffic(
    direction: "up" | "down",
    wire: Wire,
    entry: Message | AudioFrame,
    data: string | ArrayBuffer | Uint8Array,
  ): void;
}
