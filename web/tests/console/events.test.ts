import { expect, test } from "vitest";
import {
  EMPTY,
  jsonLines,
  type Log,
  matches,
  ROWS,
  type Row,
  record,
  wordCount,
} from "../../src/console/events.ts";
import type { Traffic } from "../../src/core/api.ts";

let clock = 100;

function passed(direction: "up" | "down", message: object): Traffic {
  clock += 0.01;
  return {
    now: clock,
    direction,
    connection: 1,
    sizeBytes: 10,
    message: message as unknown as NonNullable<Traffic["message"]>,
  };
}

function audio(seq: number, stream = 1): Traffic {
  clock += 0.01;
  const frame = { stream, seq, sample: seq * 480, samples: 480, utterance: 0, last: false };
  return { now: clock, direction: "down", connection: 1, sizeBytes: 970, audio: frame };
}

function logged(...all: Traffic[]): Log {
  return all.reduce(record, EMPTY);
}

function last(log: Log): Row {
  const row = log.rows.at(-1);
  if (!row) throw new Error("the log is empty");
  return row;
}

const end = { type: "utterance_end", stream: 1, reason: "done" };

test("frames in a row are one row with their number, bytes and samples", () => {
  const log = logged(audio(0), audio(1), audio(2));
  expect(log.rows).toHaveLength(1);
  expect(last(log)).toMatchObject({ kind: "audio", count: 3, sizeBytes: 2910, samples: 1440 });
  expect(last(log).first).toMatchObject({ seq: 0 });
  expect(last(log).newest).toMatchObject({ seq: 2 });
});

test("news of a stream ends its runs", () => {
  const log = logged(audio(0), passed("down", end), audio(1));
  expect(log.rows.map(({ kind }) => kind)).toEqual(["audio", "utterance_end done", "audio"]);
});

test("news of another stream does not", () => {
  const log = logged(audio(0), passed("down", { ...end, stream: 2 }), audio(1));
  expect(log.rows.map(({ count }) => count)).toEqual([2, 1]);
});

test("acks are one row whatever comes between", () => {
  const ack = { type: "ack", stream: 1, received_seq: 3 };
  const log = logged(passed("up", ack), passed("down", end), passed("up", ack));
  expect(log.rows.map(({ kind, count }) => [kind, count])).toEqual([
    ["ack", 2],
    ["utterance_end done", 1],
  ]);
});

test("a partial joins the partials before it, a final stands alone", () => {
  const said = (kind: string, text: string) =>
    passed("down", { type: "transcript", stream: 1, kind, text });
  const log = logged(said("partial", "the"), said("partial", "the harbour"), said("final", "The."));
  expect(log.rows.map(({ kind, count }) => [kind, count])).toEqual([
    ["transcript partial", 2],
    ["transcript final", 1],
  ]);
});

test("directions, streams and connections have rows of their own", () => {
  const frame = audio(0);
  const log = logged(frame, { ...frame, direction: "up" }, audio(0, 2), {
    ...frame,
    connection: 2,
  });
  expect(log.rows).toHaveLength(4);
});

test("words of text are counted over the run, of Chinese each character", () => {
  const text = (words: string) => passed("up", { type: "text", stream: 1, text: words });
  expect(last(logged(text("The harbour "), text("was quiet."))).words).toBe(4);
  expect(wordCount("清晨的港口，very quiet")).toBe(7);
});

test("tokens and keys do not get into the log", () => {
  const welcome = { type: "welcome", session_id: "s-1", resume_token: "secret" };
  const hello = { type: "hello", version: 1, auth: "secret" };
  const resume = { type: "resume", stream: 1, token: "secret" };
  const log = logged(passed("up", hello), passed("down", welcome), passed("up", resume));
  expect(jsonLines(log.rows)).not.toContain("secret");
  expect(jsonLines(log.rows)).toContain("s-1");
});

test("the oldest rows are dropped, and counted", () => {
  let log = EMPTY;
  for (let index = 0; index < ROWS + 5; index += 1) log = record(log, passed("down", end));
  expect(log.rows).toHaveLength(ROWS);
  expect(log.dropped).toBe(5);
  expect(new Set(log.rows.map(({ key }) => key)).size).toBe(ROWS);
});

test("a row without an own stream number has none", () => {
  expect(last(logged(passed("up", { type: "ping", id: 1 }))).stream).toBeUndefined();
});

test("the filter asks for all its words, in the kind, the direction or the contents", () => {
  const row = last(logged(passed("down", { ...end, code: "engine_failed" })));
  expect(matches(row, "")).toBe(true);
  expect(matches(row, "Utterance down")).toBe(true);
  expect(matches(row, "engine_failed")).toBe(true);
  expect(matches(row, "utterance up")).toBe(false);
});

test("the export is a JSON object a line, of a run the first and the newest", () => {
  const log = logged(audio(0), audio(1), passed("down", end));
  const lines = jsonLines(log.rows).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { direction: "down", kind: "audio", count: 2, samples: 960, first: { seq: 0 } },
    { kind: "utterance_end done", count: 1, message: { reason: "done" } },
  ]);
});
