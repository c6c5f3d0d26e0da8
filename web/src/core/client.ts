/** A client of one server. */

import type {
  ClientOptions,
  Cluster,
  Echo,
  EchoOptions,
  Engine,
  LinkState,
  Recognition,
  RecognitionOptions,
  StreamOptions,
  Synthesis,
  SynthesisOptions,
  Voice,
} from "./api.ts";
import type { Channel } from "./channel.ts";
import { Connection } from "./connection.ts";
import { VERSION } from "./declarations.ts";
import { type Address, addressOf, dialer } from "./dialing.ts";
import { LegatoError } from "./failure.ts";
import { PROFILES } from "./flow/backoff.ts";
import { hex } from "./flow/digest.ts";
import { guard } from "./guard.ts";
import type { Hello, NetworkHint, StreamStart } from "./messages.ts";
import { readEngines, readResource, readVoices } from "./resources.ts";
import type { Stream } from "./session/stream.ts";
import { EchoStream, RecognitionStream, SynthesisStream } from "./streams.ts";

const CLIENT_NAME = "legato-javascript";

/** Hz of a synthesis, unless told otherwise. */
const SPEECH_RATE = 24_000;

/** Seconds until an idle client connects again; each time twice as long as the last. */
const WAIT = { first: 1, most: 15 } as const;

/**
 * Opens streams on one server, over one connection that is made on first use and replaced when it
 * breaks; streams go on as if nothing had been.
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #address: Address;
  readonly #connections = new Set<Connection>();
  #current: Connection | undefined;
  #isClosed = false;
  #isKept = false;
  #wait: number = WAIT.first;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #count = 0;

  /** Fails with `connection_lost` if `url` is no address of a server. */
  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.#address = addressOf(options.url);
  }

  /**
   * Connect now, so that the first stream need not wait for it, and stay connected: without streams,
   * a lost connection is made again too (unless `reconnect` is `never`).
   */
  connect(): void {
    this.#isKept = this.#options.reconnect !== "never";
    this.#connection();
  }

  /** Have text spoken. */
  synthesize(options: SynthesisOptions = {}): Synthesis {
    const { engine, voice, language, speed, streaming } = options;
    const start = { engine, voice, language, speed, streaming, options: options.options };
    const rate = options.sampleRate ?? SPEECH_RATE;
    return this.#open(
      { ...parameters("synthesize", options), ...start, sample_rate: rate },
      (at) => {
        return new SynthesisStream(...at, options);
      },
    );
  }

  /** Have speech written down. */
  recognize(options: RecognitionOptions = {}): Recognition {
    const { engine, language, endpointing } = options;
    const hotwords = options.hotwords && [...options.hotwords];
    const start = { engine, language, endpointing, hotwords, options: options.options };
    return this.#open({ ...parameters("recognize", options), ...start }, (at) => {
      return new RecognitionStream(...at, options);
    });
  }

  /** Have audio come back as it goes: measures a connection. */
  echo(options: EchoOptions = {}): Echo {
    return this.#open(parameters("echo", options), (at) => new EchoStream(...at, options));
  }

  /** The voices that can be used now. */
  async voices(): Promise<Voice[]> {
    return readVoices(await this.#read("voices"));
  }

  /** All engines, those that cannot be used included. */
  async engines(): Promise<Engine[]> {
    return readEngines(await this.#read("engines"));
  }

  /** How gateways and workers are. */
  async cluster(): Promise<Cluster> {
    return (await this.#read("cluster")) as unknown as Cluster;
  }

  /** Stop all streams, and close; no handler is called any more but `onState`. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const connection of this.#connections) {
      connection.close();
    }
    this.#connections.clear();
  }

  #read(name: string): Promise<Record<string, unknown>> {
    return readResource(`${this.#address.resources}${name}`, this.#options.auth);
  }

  #open<S extends Channel>(start: StreamStart, make: (at: [Stream, Connection]) => S): S {
    const connection = this.#connection();
    return connection.start(start, (stream) => make([stream, connection]));
  }

  /** The connection for the next stream. */
  #connection(): Connection {
    if (this.#isClosed) {
      throw new LegatoError("connection_lost", "the client was closed");
    }
    if (!this.#current?.usable) {
      this.#current?.release();
      this.#current = this.#makeConnection();
      this.#connections.add(this.#current);
      this.#current.begin();
    }
    return this.#current;
  }

  #makeConnection(): Connection {
    const { auth, reconnect = "interactive", connectTimeout = 10, onTraffic } = this.#options;
    const { onRoundTrip } = this.#options;
    const made: Connection = new Connection({
      dial: dialer(this.#address.stream, this.#options.webSocket),
      hello: () => hello(auth),
      profile: reconnect === "never" ? undefined : PROFILES[reconnect],
      connectTimeout,
      now: () => performance.now() / 1000,
      // Later, as a connection may say so inside a call of the application.
      onState: (state) => queueMicrotask(() => this.#note(made, state)),
      count: () => {
        this.#count += 1;
        return this.#count;
      },
      onTraffic: onTraffic && guard(onTraffic),
      onRoundTrip: onRoundTrip && guard(onRoundTrip),
    });
    return made;
  }

  #note(connection: Connection, state: LinkState): void {
    if (state === "closed") {
      this.#connections.delete(connection);
    }
    if (connection === this.#current) {
      guard(this.#options.onState)(state);
      this.#keep(connection, state);
    }
  }

  /** Connect again after a while, unless the server said that this makes no sense. */
  #keep(connection: Connection, state: LinkState): void {
    clearTimeout(this.#timer);
    if (state === "open") {
      this.#wait = WAIT.first;
    }
    if (state === "closed" && this.#isKept && !this.#isClosed && connection.hasHope) {
      this.#timer = setTimeout(() => this.#connection(), this.#wait * 1000);
      this.#wait = Math.min(2 * this.#wait, WAIT.most);
    }
  }
}

function parameters(task: string, options: StreamOptions): StreamStart {
  return {
    type: "stream_start",
    stream_id: newId(),
    task,
    sample_rate: options.sampleRate,
    frame_ms: options.frameMs,
  };
}

/** A name that no other stream has; `crypto.randomUUID` is missing on pages without TLS. */
function newId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

function hello(auth: string | undefined): Hello {
  return {
    type: "hello",
    version: VERSION,
    client: CLIENT_NAME,
    auth,
    network_hint: networkHint(),
  };
}

/** What `navigator.connection` says, where there is one (https://wicg.github.io/netinfo/). */
interface NetworkInformation {
  readonly effectiveType?: string;
  /** Milliseconds. */
  readonly rtt?: number;
  /** Megabits per second. */
  readonly downlink?: number;
  readonly saveData?: boolean;
}

/** What the browser believes of the network: a prior for the first second. */
function networkHint(): NetworkHint | undefined {
  const browser = globalThis.navigator as Navigator & { connection?: NetworkInformation };
  const connection = browser?.connection;
  return (
    connection && {
      effective_type: connection.effectiveType,
      rtt: connection.rtt === undefined ? undefined : connection.rtt / 1000,
      downlink_kbps: connection.downlink === undefined ? undefined : connection.downlink * 1000,
      save_data: connection.saveData,
    }
  );
}
