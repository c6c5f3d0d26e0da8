/** What is said when something fails: what happened, what to do. */

import type { Failure } from "../core/api.ts";
import { LegatoError } from "../core/failure.ts";
import { SoundError } from "../core/sound/index.ts";
import { isKey, type Key } from "./language.ts";

export interface Fault {
  readonly key: Key;
  readonly values: Readonly<Record<string, string | number>>;
  readonly code: string;
  /** The server's or the browser's own words. */
  readonly detail?: string;
  /** Seconds after which another attempt makes sense. */
  readonly retryAfter?: number | undefined;
}

/** The fault for what a stream told. */
export function faultOf(
  failure: Pick<Failure, "code" | "message"> & { readonly retryAfter?: number | undefined },
): Fault {
  const key = `error.${failure.code}`;
  const { code, message, retryAfter } = failure;
  return {
    key: isKey(key) ? key : "error.unknown",
    values: { message },
    code,
    ...(isKey(key) && message ? { detail: message } : {}),
    retryAfter,
  };
}

/** The fault for what opening sound, a file, a microphone or a stream threw. */
export function faultFrom(error: unknown): Fault {
  if (error instanceof SoundError) {
    const key = `sound.${error.code}`;
    const { code, message } = error;
    return { key: isKey(key) ? key : "sound.unknown", values: { message }, code, detail: message };
  }
  if (error instanceof LegatoError) return faultOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return { key: "sound.unknown", values: { message }, code: "unknown" };
}
