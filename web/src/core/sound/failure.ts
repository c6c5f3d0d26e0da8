/** What can be wrong with sound in a browser, and what the user can do about it. */

import { LegatoError } from "../failure.ts";

/** The ways to fail, and the way out of each. A page with words of its own need not load it. */
export const FIXES = {
  insecure_origin:
    "Open the page as http://localhost or http://127.0.0.1 (over ssh: ssh -L 8440:127.0.0.1:8440), or serve it with https.",
  permission_denied:
    "Allow the microphone for this page: the icon left of the address, then reload. On a phone, also in the settings of the system.",
  no_device: "Plug in a microphone, or choose another one in the settings of the system.",
  rate_too_high: "Set the device to 48 kHz or less in the sound settings of the system.",
  device_busy: "Close the other program that uses the microphone, then try again.",
  sound_suspended: "Click anywhere in the page: browsers start sound only after a click or a key.",
  unsupported: "Use a current Chrome, Edge, Firefox or Safari (14.1 or newer).",
  not_loaded: "Reload the page; if that does not help, the server or a proxy keeps back its files.",
  unreadable_file: "Choose a file that this browser can play: WAV, MP3, M4A, FLAC or Ogg.",
} as const;

export type SoundCode = keyof typeof FIXES;

/** A sound error with a stable code; {@link FIXES} says in English what to do. */
export class SoundError extends LegatoError {
  declare readonly code: SoundCode;

  constructor(code: SoundCode, message: string, cause?: unknown) {
    super(code, message, { retryable: false, cause });
  }
}

/** What the names of `getUserMedia`'s exceptions mean (W3C Media Capture and Streams, 10.1). */
const CAPTURE_CODES: Readonly<Record<string, SoundCode>> = {
  NotAllowedError: "permission_denied",
  PermissionDeniedError: "permission_denied",
  SecurityError: "permission_denied",
  NotFoundError: "no_device",
  DevicesNotFoundError: "no_device",
  OverconstrainedError: "no_device",
  NotReadableError: "device_busy",
  TrackStartError: "device_busy",
  AbortError: "device_busy",
  NotSupportedError: "unsupported",
  TypeError: "unsupported",
};

/** The error for what opening a microphone threw. */
export function captureError(error: unknown): SoundError {
  if (error instanceof SoundError) return error;
  const { name = "", message = String(error) } = error instanceof Error ? error : {};
  return new SoundError(CAPTURE_CODES[name] ?? "unsupported", message || name, error);
}

/** What there is to check before sound is asked for. */
export interface Surroundings {
  readonly isSecureContext: boolean;
  readonly hasWorklets: boolean;
  readonly hasMicrophones: boolean;
}

/** Why sound, or with `microphone` its capture, cannot work here at all; null if it can. */
export function obstacle(here: Surroundings, microphone: boolean): SoundError | null {
  const works = here.hasWorklets && (here.hasMicrophones || !microphone);
  if (works) return null;
  if (!here.isSecureContext) {
    return new SoundError("insecure_origin", "Browsers give sound only to secure pages.");
  }
  const missing = here.hasWorklets ? "microphones" : "AudioWorklet";
  return new SoundError("unsupported", `This browser has no ${missing}.`);
}

/** As found in this page. */
export function surroundings(): Surroundings {
  const { isSecureContext } = globalThis;
  // Chromium keeps AudioWorkletNode, but not AudioWorklet, from insecure pages.
  const hasWorklets = typeof AudioWorklet !== "undefined";
  const hasMicrophones = navigator.mediaDevices?.getUserMedia !== undefined;
  return { isSecureContext, hasWorklets, hasMicrophones };
}
