/** A WebSocket whose other end is the test. */

import { vi } from "vitest";
import type { SocketClass } from "../../src/core/api.ts";
import { AudioFrame, decodeFrame, encodeFrame } from "../../src/core/frame.ts";

export type Json = Record<string, unknown>;

export class FakeSocket {
  binaryType = "";
  bufferedAmount = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  closedWith: number | undefined;
  readonly sent: (Json | AudioFrame)[] = [];
  readonly url: string;
  readonly protocols: string[];

  constructor(url: string, protocols: string[]) {
    this.url = url;
    this.protocols = protocols;
  }

  send(data: string | Uint8Array): void {
    this.sent.push(typeof data === "string" ? JSON.parse(data) : decodeFrame(data));
  }

  close(code = 1000): void {
    this.closedWith ??= code; // a socket is closed once
  }

  /** The server answers the dial. */
  open(): void {
    this.onopen?.();
  }

  /** The server says something. */
  hear(...said: (Json | AudioFrame | string)[]): void {
    for (const one of said) {
      const data = one instanceof AudioFrame ? encodeFrame(one).slice().buffer : one;
      const isText = typeof data === "string" || data instanceof ArrayBuffer;
      this.onmessage?.({ data: isText ? data : JSON.stringify(data) });
    }
  }

  /** The connection ends. */
  break(code = 1006, reason = ""): void {
    this.onclose?.({ code, reason });
  }

  /** The messages of one type that were sent. */
  told(type: string): Json[] {
    return this.sent.filter(
      (one): one is Json => !(one instanceof AudioFrame) && one.type === type,
    );
  }

  /** The frames that were sent. */
  get frames(): AudioFrame[] {
    return this.sent.filter((one): one is AudioFrame => one instanceof AudioFrame);
  }
}

/** The sockets that a client makes, in order. */
export class FakeNetwork {
  readonly sockets: FakeSocket[] = [];

  get webSocket(): SocketClass {
    const { sockets } = this;
    const kind = class extends FakeSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        sockets.push(this);
      }
    };
    // What the client needs of a WebSocket, it has.
    return kind as unknown as SocketClass;
  }

  /** The socket that was made last. */
  get last(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (!socket) {
      throw new Error("no socket was made");
    }
    return socket;
  }

  /** Let the server answer a dial and greet. */
  async greet(token = "token"): Promise<FakeSocket> {
    const socket = this.last;
    socket.open();
    await turn();
    socket.hear({ type: "welcome", version: 1, session_id: "s", resume_token: token });
    await turn();
    return socket;
  }
}

/** Let so many seconds pass. */
export async function turn(seconds = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

/** What a server answers to the start of a stream. */
export function started(stream: number, fields: Json = {}): Json {
  return {
    type: "stream_started",
    stream,
    stream_id: "x",
    task: "synthesize",
    sample_rate: 16_000,
    credit_samples: 1_000_000,
    credit_chars: 20_000,
    ...fields,
  };
}

/** A frame of 20 ms at 16 kHz. */
export function tone(seq: number, fields: Partial<AudioFrame> = {}): AudioFrame {
  const payload = new Uint8Array(640).fill(1);
  return new AudioFrame(payload, { seq, stream: 1, sample: seq * 320, ...fields });
}
