/** Every way to fail: the codes of the errors page, the same as on the wire and in Python. */

import { RETRYABLE } from "./declarations.ts";
import type { ErrorMessage } from "./messages.ts";

/** What an error may carry beside its code. */
export interface Facts {
  readonly retryAfter?: number | undefined;
  /** The peer reported it. */
  readonly remote?: boolean;
  readonly retryable?: boolean;
  readonly expected?: number | undefined;
  readonly missing?: readonly [number, number] | undefined;
  readonly offer?: Readonly<Record<string, unknown>> | undefined;
  readonly characters?: string | undefined;
  readonly cause?: unknown;
}

/** An error with a stable code. */
export class LegatoError extends Error {
  override readonly name = "LegatoError";
  readonly code: string;
  readonly retryable: boolean;
  /** Seconds to wait before a retry, if known. */
  readonly retryAfter: number | undefined;
  readonly facts: Facts;

  constructor(code: string, message: string, facts: Facts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.retryable = facts.retryable ?? RETRYABLE.has(code);
    this.retryAfter = facts.retryAfter;
    this.facts = facts;
  }

  /** Whether a connection that ended with it may be followed by a better one. */
  get isPassing(): boolean {
    return this.retryable || this.code === "idle_timeout";
  }
}

/** What the peer reported; `retryable` is as the peer said. */
export function errorFrom(message: ErrorMessage): LegatoError {
  return new LegatoError(message.code, message.message || message.code, {
    remote: true,
    retryable: message.retryable,
    retryAfter: message.retry_after,
    expected: message.expected,
    missing: message.missing,
    offer: message.offer,
    characters: message.characters,
  });
}

/** Bytes that are no message. */
export function malformed(message: string, cause?: unknown): LegatoError {
  return new LegatoError("malformed_message", message, { cause });
}
