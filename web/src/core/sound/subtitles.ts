/** Transcripts as subtitles: SubRip (.srt) and WebVTT (W3C, .vtt), as `legato listen` writes them. */

import { SPACE, wrapped } from "./wrapping.ts";

/** Characters in a line, at the most: the usual bound of subtitles (Netflix, BBC: 37 to 42). */
export const LINE_CHARS = 42;
const CUE_LINES = 2;

/** A text of one or more lines and when it is shown, in seconds. */
export interface Cue {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * A text as cues of two lines of 42 characters at the most.
 *
 * Where one cue passes into the next is interpolated, not heard: the time of the whole is shared in
 * proportion to the characters.
 */
export function split(cue: Cue): Cue[] {
  const lines = wrapped(cue.text, LINE_CHARS);
  const total = characters(lines);
  const cues: Cue[] = [];
  let { start } = cue;
  let shown = 0;
  for (let first = 0; first < lines.length; first += CUE_LINES) {
    const some = lines.slice(first, first + CUE_LINES);
    shown += characters(some);
    const end = cue.start + ((cue.end - cue.start) * shown) / total;
    cues.push({ start, end, text: some.join("\n") });
    start = end;
  }
  return cues;
}

/** A SubRip file of texts that may be long. */
export function srt(texts: readonly Cue[]): string {
  const blocks = texts.flatMap(split).map(({ start, end, text }, index) => {
    const times = `${time(start, ",")} --> ${time(end, ",")}`;
    return `${index + 1}\n${times}\n${lines(text)}\n\n`;
  });
  return blocks.join("");
}

/** A WebVTT file of texts that may be long; the characters that it reserves are escaped. */
export function vtt(texts: readonly Cue[]): string {
  const blocks = texts.flatMap(split).map(({ start, end, text }) => {
    const times = `${time(start, ".")} --> ${time(end, ".")}`;
    const escaped = lines(text)
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;");
    return `${times}\n${escaped}\n\n`;
  });
  return `WEBVTT\n\n${blocks.join("")}`;
}

function characters(some: readonly string[]): number {
  return some.reduce((sum, line) => sum + [...line].length, 0);
}

const SPACES = new RegExp(`${SPACE}+`, "u");
/** As Python's `str.splitlines`. */
const LINE_END = "\\r\\n|[\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029]";
const LINE_ENDS = new RegExp(LINE_END, "u");

/** `text` without its empty lines, which would end the cue. */
function lines(text: string): string {
  const tidied = text.split(LINE_ENDS).map((line) => line.split(SPACES).filter(Boolean).join(" "));
  return tidied.filter(Boolean).join("\n");
}

/** Halves to the even number, as Python rounds. */
function rounded(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function time(seconds: number, mark: string): string {
  const millis = rounded(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const clock = [millis / 3_600_000, (millis / 60_000) % 60, (millis / 1000) % 60].map(two);
  return `${clock.join(":")}${mark}${String(millis % 1000).padStart(3, "0")}`;
}
