/**
 * Sound in the browser: play streams, hear microphones and files, write what was said.
 *
 * `Player`, `Microphone` and `Tape` need a page; all else is plain computation. Errors are
 * `SoundError`s: a code, what happened, and what to do. Instants are seconds of
 * `performance.now()`, durations seconds, positions samples.
 */

export type { SoundState } from "./context.ts";
export { FIXES, type SoundCode, SoundError } from "./failure.ts";
export { type Level, Meter, metered, SILENCE } from "./meter.ts";
export {
  type HeardFrame,
  Microphone,
  type MicrophoneOptions,
  microphones,
} from "./microphone.ts";
export { Peaks } from "./peaks.ts";
export { Player, type PlayerHandlers, type PlayerOptions, type PlayOptions } from "./player.ts";
export type { PlayoutState } from "./playout.ts";
export type { Standing } from "./ports.ts";
export { openRecording, type Recording, Tape, type TapeOptions } from "./recording.ts";
export { CAREFUL_RISK, RISK, type StartOptions } from "./start.ts";
export { type Cue, srt, vtt } from "./subtitles.ts";
export { wavBlob } from "./wav.ts";
