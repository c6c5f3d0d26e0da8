/** A digest that grows with a stream, so that truncation is never taken for an end. */

import { sha256 } from "@noble/hashes/sha2.js";

/** Digest of payloads in order: d(n) = SHA-256(d(n-1) || payload(n)), from 32 zero bytes. */
export class Chain {
  // Not by `crypto.subtle`: that answers later, and pages without TLS do not have it.
  #digest: Uint8Array = new Uint8Array(32);

  /** Add the payload of one frame; an empty one counts too. */
  update(payload: Uint8Array): void {
    this.#digest = sha256.create().update(this.#digest).update(payload).digest();
  }

  /** 64 hex digits, as `stream_end` carries them. */
  hex(): string {
    return hex(this.#digest);
  }
}

/** Bytes as hex digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
