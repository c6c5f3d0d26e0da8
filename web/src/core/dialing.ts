/** Opens WebSockets. */

import type { SocketClass } from "./api.ts";
import { SUBPROTOCOL } from "./declarations.ts";
import { LegatoError } from "./failure.ts";

const SCHEMES: Readonly<Record<string, string>> = {
  "ws:": "ws:",
  "wss:": "wss:",
  "http:": "ws:",
  "https:": "wss:",
};

/** Where a server is. */
export interface Address {
  /** Of the WebSocket. */
  readonly stream: string;
  /** What goes before the names of resources. */
  readonly resources: string;
}

/**
 * The addresses that a URL means; without a path, `/v1/stream` is meant.
 *
 * Without a URL it is the server that the page came from, below the same path of a proxy; in a
 * worker, which does not know its page, at the root.
 */
export function addressOf(url: string | undefined): Address {
  const page = globalThis.document?.baseURI;
  const base = page ?? globalThis.location?.href;
  let parsed: URL;
  try {
    parsed = new URL(url ?? (page ? "v1/stream" : "/v1/stream"), base);
  } catch (error) {
    throw new LegatoError("connection_lost", `${url ?? "no url"} is no address of a server`, {
      cause: error,
    });
  }
  const scheme = SCHEMES[parsed.protocol];
  if (scheme === undefined) {
    throw new LegatoError("connection_lost", `${url} is not ws://, wss://, http:// or https://`);
  }
  const path = parsed.pathname === "/" ? "/v1/stream" : parsed.pathname;
  const resources = path.replace(/\/stream\/?$/, "/");
  return {
    stream: `${scheme}//${parsed.host}${path}${parsed.search}`,
    resources: `${scheme.replace("ws", "http")}//${parsed.host}${resources}`,
  };
}

/** Opens a WebSocket to one address. */
export type Dial = (patience: number, signal: AbortSignal) => Promise<WebSocket>;

/** Make what dials; it fails with `connection_lost` after `patience` seconds. */
export function dialer(address: string, given: SocketClass | undefined): Dial {
  const kind = given ?? globalThis.WebSocket;
  if (!kind) {
    throw new LegatoError("connection_lost", "there is no WebSocket here; give one as `webSocket`");
  }
  return (patience, signal) =>
    new Promise((resolve, reject) => {
      const socket = new kind(address, [SUBPROTOCOL]);
      socket.binaryType = "arraybuffer";
      const settle = (sentence?: string): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        socket.onopen = socket.onclose = socket.onerror = null;
        if (sentence === undefined) {
          resolve(socket);
        } else {
          socket.close();
          reject(new LegatoError("connection_lost", sentence));
        }
      };
      const abort = (): void => settle("nobody waits for it any more");
      const timer = setTimeout(() => settle(`${address} does not answer in time`), patience * 1000);
      signal.addEventListener("abort", abort);
      socket.onopen = () => settle();
      // A browser does not tell why: `error` comes first, and says nothing.
      socket.onclose = ({ code }) => settle(`${address} cannot be reached (close code ${code})`);
    });
}
