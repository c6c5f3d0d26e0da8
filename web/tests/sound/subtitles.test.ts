import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Cue, LINE_CHARS, split, srt, vtt } from "../../src/core/sound/subtitles.ts";
import { wrapped } from "../../src/core/sound/wrapping.ts";

const VECTORS: { texts: readonly Cue[]; srt: string; vtt: string } = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/subtitles.json", import.meta.url), "utf-8"),
);

it("writes SubRip as Python does", () => {
  expect(srt(VECTORS.texts)).toBe(VECTORS.srt);
});

it("writes WebVTT as Python does", () => {
  expect(vtt(VECTORS.texts)).toBe(VECTORS.vtt);
});

it("writes nothing, or only the header, for no text", () => {
  expect(srt([])).toBe("");
  expect(vtt([])).toBe("WEBVTT\n\n");
});

it("shares the time of a long text in proportion to its characters", () => {
  const text = `${"a".repeat(42)} ${"b".repeat(42)} ${"c".repeat(42)}`;
  const cues = split({ start: 0, end: 12, text });
  expect(cues.map(({ start, end }) => [start, end])).toEqual([
    [0, 8],
    [8, 12],
  ]);
});

it("keeps every character but spaces, in lines that fit", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
      const lines = wrapped(text, LINE_CHARS);
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(LINE_CHARS);
      const bare = (value: string) => value.replace(/\s/gu, "");
      expect(bare(lines.join(""))).toBe(bare(text));
    }),
  );
});
