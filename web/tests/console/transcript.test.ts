import { expect, test } from "vitest";
import {
  certainty,
  type Heard,
  hear,
  NOTHING,
  plain,
  SEGMENTS,
  type Told,
} from "../../src/console/transcript.ts";
import { srt, vtt } from "../../src/core/sound/subtitles.ts";

const RATE = 16_000;

function said(kind: Told["kind"], text: string, start = 0, end = RATE): Told {
  return { kind, text, start, end };
}

function heard(...all: Told[]): Heard {
  return all.reduce((before, told) => hear(before, told, RATE), NOTHING);
}

test("a partial is replaced by the next one", () => {
  const state = heard(said("partial", "the"), said("partial", "the harbour"));
  expect(state.partial?.text).toBe("the harbour");
  expect(state.finals).toEqual([]);
});

test("a final takes the place and the key of its partial", () => {
  const before = heard(said("partial", "the harbour"));
  const after = hear(before, said("final", "The harbour."), RATE);
  expect(after.partial).toBeUndefined();
  expect(after.finals[0]).toMatchObject({ key: before.partial?.key, text: "The harbour." });
});

test("a final without text only ends the partial", () => {
  const state = heard(said("partial", "hm"), said("final", " "));
  expect(state).toEqual(NOTHING);
});

test("positions become seconds, after what was heard on earlier streams", () => {
  const told = {
    ...said("final", "Two.", 8000, 24_000),
    words: [{ text: "Two.", start: 0.5, end: 1.5 }],
  };
  const { finals } = hear(NOTHING, told, RATE, 10);
  expect(finals[0]).toMatchObject({ start: 10.5, end: 11.5 });
  expect(finals[0]?.words[0]).toEqual({ text: "Two.", start: 10.5, end: 11.5 });
});

test("the oldest segments are dropped, and counted", () => {
  let state = NOTHING;
  for (let index = 0; index < SEGMENTS + 3; index += 1) {
    state = hear(state, said("final", String(index)), RATE);
  }
  expect(state.finals).toHaveLength(SEGMENTS);
  expect(state.finals[0]?.text).toBe("3");
  expect(state.dropped).toBe(3);
});

test("confidence has three steps, and none where the engine does not tell", () => {
  expect([undefined, 0.3, 0.7, 0.95].map(certainty)).toEqual([undefined, "low", "middle", "high"]);
});

test("finals become text and subtitles with their times", () => {
  const { finals } = heard(said("final", "One."), said("final", "Two.", RATE, 3 * RATE));
  expect(plain(finals)).toBe("One.\nTwo.");
  expect(srt(finals)).toBe(
    "1\n00:00:00,000 --> 00:00:01,000\nOne.\n\n2\n00:00:01,000 --> 00:00:03,000\nTwo.\n\n",
  );
  expect(vtt(finals)).toContain("00:00:01.000 --> 00:00:03.000\nTwo.");
});
