/** The log of what passed: bounded, with runs of the same thing in one row. */

import type { Traffic } from "../core/api.ts";

export interface Row {
  readonly key: number;
  /** Seconds since the log began. */
  readonly at: number;
  readonly direction: "up" | "down";
  readonly connection: number;
  /** Such as `audio`, `transcript partial`, `utterance_end done`. */
  readonly kind: string;
  /** Stream number, undefined where a message is about none. */
  readonly stream: number | undefined;
  /** How many messages or frames the row stands for. */
  readonly count: number;
  readonly sizeBytes: number;
  /** Samples of audio in it. */
  readonly samples: number;
  /** Words of text in it. */
  readonly words: number;
  /** The newest message or frame of the row, and of a run the first. */
  readonly newest: unknown;
  readonly first: unknown;
}

export interface Log {
  readonly rows: readonly Row[];
  readonly next: number;
  readonly dropped: number;
  /** Instant of the first message. */
  readonly began: number | undefined;
}

/** How many rows are kept. */
export const ROWS = 1000;
/** A run is looked for among so many of the newest rows. */
const REACH = 12;
export const EMPTY: Log = { rows: [], next: 0, dropped: 0, began: undefined };

/** Kinds of which a run is one row: they come many times a second, and news ends the run. */
const RUNS = new Set(["audio", "text", "transcript partial"]);
/** Kinds that are no news: a run of them is one row whatever comes between. */
const UPKEEP = new Set(["ack", "ping", "pong", "flow_control"]);

/** `log` with `traffic` in it. */
export function record(log: Log, traffic: Traffic): Log {
  const row = rowOf(log, traffic);
  const at = runOf(log.rows, row);
  if (at >= 0) {
    const rows = log.rows.slice();
    rows[at] = joined(rows[at] as Row, row);
    return { ...log, rows };
  }
  const surplus = Math.max(0, log.rows.length + 1 - ROWS);
  return {
    rows: [...(surplus ? log.rows.slice(surplus) : log.rows), row],
    next: log.next + 1,
    dropped: log.dropped + surplus,
    began: log.began ?? traffic.now,
  };
}

function rowOf(log: Log, traffic: Traffic): Row {
  const content = discreet(traffic.message ?? traffic.audio ?? {});
  const message = traffic.message as Readonly<Record<string, unknown>> | undefined;
  const text = message?.type === "text" ? String(message.text) : "";
  const stream = message ? message.stream : traffic.audio?.stream;
  return {
    key: log.next,
    at: traffic.now - (log.began ?? traffic.now),
    direction: traffic.direction,
    connection: traffic.connection,
    kind: message ? kindOf(message) : "audio",
    stream: typeof stream === "number" && stream > 0 ? stream : undefined,
    count: 1,
    sizeBytes: traffic.sizeBytes,
    samples: traffic.audio?.samples ?? 0,
    words: wordCount(text),
    newest: content,
    first: content,
  };
}

/** What lets others act in the user's name stays out of the log and its export. */
const SECRETS = ["auth", "token", "resume_token"];

function discreet(content: object): object {
  const shown: Record<string, unknown> = { ...content };
  for (const name of SECRETS) if (shown[name]) shown[name] = "…";
  return shown;
}

function kindOf(message: Readonly<Record<string, unknown>>): string {
  const detail = message.kind ?? message.reason ?? message.code;
  return typeof detail === "string" ? `${message.type} ${detail}` : String(message.type);
}

/** Words of `text`; of Chinese and Japanese each character counts, as they have no spaces. */
export function wordCount(text: string): number {
  return (
    text.match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[^\s\p{sc=Han}\p{P}]+/gu)?.length ?? 0
  );
}

/** Where the run is that `row` continues, -1 for none. */
function runOf(rows: readonly Row[], row: Row): number {
  const upkeep = UPKEEP.has(row.kind);
  if (!upkeep && !RUNS.has(row.kind)) return -1;
  const last = Math.max(0, rows.length - REACH);
  for (let index = rows.length - 1; index >= last; index -= 1) {
    const other = rows[index] as Row;
    if (isSameRun(other, row)) return index;
    if (!upkeep && other.stream === row.stream && isNews(other)) return -1;
  }
  return -1;
}

function isNews({ kind }: Row): boolean {
  return !RUNS.has(kind) && !UPKEEP.has(kind);
}

function isSameRun(one: Row, other: Row): boolean {
  return (
    one.kind === other.kind &&
    one.direction === other.direction &&
    one.stream === other.stream &&
    one.connection === other.connection
  );
}

function joined(run: Row, row: Row): Row {
  return {
    ...run,
    count: run.count + row.count,
    sizeBytes: run.sizeBytes + row.sizeBytes,
    samples: run.samples + row.samples,
    words: run.words + row.words,
    newest: row.newest,
  };
}

/** Whether `row` has all words of `filter` in its kind, direction or contents. */
export function matches(row: Row, filter: string): boolean {
  const asked = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!asked.length) return true;
  const content = `${row.direction} ${row.kind} ${JSON.stringify(row.newest)}`.toLowerCase();
  return asked.every((word) => content.includes(word));
}

/** `rows` as JSON lines. */
export function jsonLines(rows: readonly Row[]): string {
  return rows
    .map((row) => {
      const { at, direction, connection, kind, count, sizeBytes, samples, newest, first } = row;
      const told = { at: Number(at.toFixed(4)), direction, connection, kind, count };
      const sizes = { size_bytes: sizeBytes, ...(samples ? { samples } : {}) };
      const content = count > 1 ? { first, newest } : { message: newest };
      return `${JSON.stringify({ ...told, ...sizes, ...content })}\n`;
    })
    .join("");
}
