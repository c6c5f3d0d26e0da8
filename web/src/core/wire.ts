/** One WebSocket of a connection: moves messages between it and its owner. */

import { decodeServer } from "./codec.ts";
import { CLOSE_CODES } from "./declarations.ts";
import { LegatoError, malformed } from "./failure.ts";
import { type AudioFrame, decodeFrame } from "./frame.ts";
import type { ServerMessage } from "./messages.ts";
import type { Outgoing } from "./session/link.ts";

/** Unsent bytes at which nothing more is given to a socket. */
export const CEILING_BYTES = 65_536;

/** Close code of a client that was told what it cannot understand. */
const PROTOCOL_ERROR = 4400;

/** What a wire tells. */
export interface WireOwner {
  /** A message or frame has come, as `data`. */
  heard(wire: Wire, entry: ServerMessage | AudioFrame, data: string | ArrayBuffer): void;
  /** The socket is gone. */
  lost(wire: Wire, error: LegatoError): void;
  /** The server breaks the rules, or we have a bug: this cannot go on. */
  broken(wire: Wire, error: LegatoError): void;
}

export class Wire {
  /** Which connection of the client this is, from 1. */
  readonly number: number;
  readonly #socket: WebSocket;
  readonly #owner: WireOwner;

  /** @param socket An open one. */
  constructor(socket: WebSocket, number: number, owner: WireOwner) {
    this.#socket = socket;
    this.number = number;
    this.#owner = owner;
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => owner.lost(this, lossOf(code, reason));
  }

  /** Bytes that may be given to it now. */
  get roomBytes(): number {
    return CEILING_BYTES - this.#socket.bufferedAmount;
  }

  send(frame: Outgoing): void {
    this.#socket.send(frame.data);
  }

  /** Close in good order, after what was sent; nothing more is told. */
  close(code = 1000): void {
    this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close(code);
  }

  #receive(data: unknown): void {
    try {
      if (typeof data === "string") {
        this.#owner.heard(this, decodeServer(data), data);
      } else if (data instanceof ArrayBuffer) {
        this.#owner.heard(this, decodeFrame(new Uint8Array(data)), data);
      } else {
        throw malformed("message is neither text nor an ArrayBuffer");
      }
    } catch (error) {
      this.close(PROTOCOL_ERROR);
      this.#owner.broken(this, faultOf(error));
    }
  }
}

/** What went wrong while a message was read or a frame made. */
export function faultOf(error: unknown): LegatoError {
  if (error instanceof LegatoError) {
    return error;
  }
  return new LegatoError("internal", `the client failed: ${error}`, { cause: error });
}

/** What the end of a socket means. */
function lossOf(closeCode: number, reason: string): LegatoError {
  const code = CLOSE_CODES[closeCode];
  if (code === "draining") {
    return new LegatoError(code, "the server went away; connect again");
  }
  const why = `close code ${closeCode}${reason ? `, ${reason}` : ""}`;
  const isRefusal = code === "unauthenticated" || code === "forbidden";
  return new LegatoError(isRefusal ? code : "connection_lost", `the connection was lost (${why})`);
}
