/** What a session tells its shell. */

import type { LegatoError } from "../failure.ts";
import type { FlowControl, Notice, StreamEnd, StreamStarted, Welcome } from "../messages.ts";
import type { Item } from "./lane.ts";
import type { Stream } from "./stream.ts";

export type Event =
  /** The session is open. */
  | { readonly kind: "welcomed"; readonly welcome: Welcome }
  /** The server runs the stream. */
  | { readonly kind: "opened"; readonly stream: Stream; readonly started: StreamStarted }
  /** The stream goes on over a new connection, nothing lost. */
  | { readonly kind: "recovered"; readonly stream: Stream }
  /** The server cannot take the stream now; it waits for the next connection. */
  | { readonly kind: "resume_refused"; readonly stream: Stream; readonly error: LegatoError }
  /** Entries of one stream, in order, each exactly once. */
  | { readonly kind: "received"; readonly stream: Stream; readonly items: readonly Item[] }
  /** The server acknowledged more or gave credit; senders may go on. */
  | { readonly kind: "progressed"; readonly stream: Stream }
  /** The server asks for a pace; the session obeys by itself. */
  | { readonly kind: "paced"; readonly control: FlowControl }
  | { readonly kind: "noticed"; readonly stream: Stream; readonly notice: Notice }
  /** The stream is over and everything was delivered. */
  | {
      readonly kind: "finished";
      readonly stream: Stream;
      readonly end: StreamEnd;
      /** Whether the digest over what came is the server's. */
      readonly intact: boolean;
    }
  /** The stream is over with a fault; others go on. */
  | { readonly kind: "failed"; readonly stream: Stream; readonly error: LegatoError }
  /** The server goes away in `deadline` seconds. */
  | { readonly kind: "draining"; readonly deadline: number }
  /** A pong has come; `rtt` in seconds. */
  | { readonly kind: "answered"; readonly rtt: number }
  /** The peer does not answer; the connection counts as lost. */
  | { readonly kind: "stalled"; readonly error: LegatoError }
  /** The session is over. */
  | { readonly kind: "session_failed"; readonly error: LegatoError };
