/** An AudioContext that is made in a click, and what can keep it from running. */

import { obstacle, SoundError, surroundings } from "./failure.ts";

/** `closed` before the first click; `interrupted` while a call or another app has the sound (iOS). */
export type SoundState = "closed" | "suspended" | "running" | "interrupted";

/** Seconds after which a context that does not run is said to be suspended. */
const RESUME_WAIT = 1;

/** Seconds by which the browser's mapping of clocks and its latency differ (10 ms measured). */
const MAPPING_ERROR = 0.03;

/** Seconds of `performance.now()`, the clock of all instants here. */
export function monotonic(): number {
  return performance.now() / 1000;
}

export function soundState(context: AudioContext | null): SoundState {
  return context === null ? "closed" : context.state;
}

/**
 * Make a context; call it inside the handler of a click or a key.
 *
 * @param sampleRate Hz; without it the device's own. Firefox refuses to connect a microphone to a
 *   context of another rate than its own.
 * @throws SoundError `insecure_origin` or `unsupported`.
 */
export function makeContext(microphone: boolean, sampleRate?: number): AudioContext {
  const problem = obstacle(surroundings(), microphone);
  if (problem) throw problem;
  const latencyHint = "interactive";
  return new AudioContext(sampleRate === undefined ? { latencyHint } : { latencyHint, sampleRate });
}

/**
 * Load a worklet.
 *
 * @throws SoundError `not_loaded`.
 */
export async function addWorklet(context: AudioContext, url: string): Promise<void> {
  try {
    await context.audioWorklet.addModule(url);
  } catch (error) {
    throw new SoundError("not_loaded", `${url} was not loaded.`, error);
  }
}

/**
 * Start a context, or again after an interruption.
 *
 * @throws SoundError `sound_suspended` if it does not run within a second.
 */
export async function resume(context: AudioContext): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, RESUME_WAIT * 1000);
  });
  // A context without a click behind it neither resolves nor rejects.
  const refused = await Promise.race([context.resume(), late]).catch((error: unknown) => error);
  clearTimeout(timer);
  if (soundState(context) === "running") return;
  throw new SoundError("sound_suspended", `The sound is ${context.state}.`, refused);
}

/**
 * When a moment of a context's clock is heard, in seconds of `performance.now()`.
 *
 * The browser's own mapping lags behind a device that has just begun or lost time, by more than
 * 100 ms in Chromium, and would have sound heard before it was rendered: then the latency counts.
 */
export function heardAt(context: AudioContext, contextTime: number): number {
  const { contextTime: at = 0, performanceTime = 0 } = context.getOutputTimestamp();
  const latency = context.outputLatency || context.baseLatency;
  const estimated = monotonic() + contextTime - context.currentTime + latency;
  const mapped = performanceTime / 1000 + contextTime - at;
  return performanceTime > 0 && mapped > estimated - MAPPING_ERROR ? mapped : estimated;
}
