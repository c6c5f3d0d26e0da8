import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LegatoError } from "../../src/core/failure.ts";
import { AudioFrame, decodeFrame, encodeFrame } from "../../src/core/frame.ts";
import { bytes, hex, vectors } from "./vectors.ts";

interface Vector {
  name: string;
  hex: string;
  payload: string;
  seq: number;
  last: boolean;
  stream: number;
  sample: number;
  epoch: number;
  utterance: number;
}

type Fields = [string, number, boolean, number, number, number, number];

const CHUNKS = vectors<{ frames: Vector[]; accepted: Vector[]; refused: Vector[] }>(
  "audio_chunk.json",
);
const MUTATIONS = vectors<[string, Fields | null][]>("audio_chunk_mutations.json");

function frameOf({ payload, seq, last, stream, sample, epoch, utterance }: Vector): AudioFrame {
  return new AudioFrame(bytes(payload), { seq, last, stream, sample, epoch, utterance });
}

function fieldsOf(frame: AudioFrame): Fields {
  const { payload, seq, last, stream, sample, epoch, utterance } = frame;
  return [hex(payload), seq, last, stream, sample, epoch, utterance];
}

/** What is read of some bytes, or null for a refusal; anything else fails the test. */
function read(data: Uint8Array): Fields | null {
  try {
    return fieldsOf(decodeFrame(data));
  } catch (error) {
    if (error instanceof LegatoError && error.code === "malformed_message") {
      return null;
    }
    throw error;
  }
}

describe("frames are coded as Python codes them", () => {
  test.each(CHUNKS.frames)("$name", (vector) => {
    expect(hex(encodeFrame(frameOf(vector)))).toBe(vector.hex);
    expect(read(bytes(vector.hex))).toEqual(fieldsOf(frameOf(vector)));
  });
});

describe("bytes of another encoder are read", () => {
  test.each(CHUNKS.accepted)("$name", (vector) => {
    expect(read(bytes(vector.hex))).toEqual(fieldsOf(frameOf(vector)));
  });
});

describe("broken bytes are refused", () => {
  test.each(CHUNKS.refused)("$name", (vector) => {
    expect(read(bytes(vector.hex))).toBeNull();
  });
});

test("what is almost a frame is read or refused as in Python", () => {
  expect(MUTATIONS.map(([data]) => [data, read(bytes(data))])).toEqual(MUTATIONS);
});

test("nothing but a typed error comes of any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (data) => {
      read(data);
    }),
    { numRuns: 2000 },
  );
});

test("what was coded is read", () => {
  const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const fields = fc.record({
    seq: number,
    last: fc.boolean(),
    stream: number,
    sample: fc.maxSafeNat(),
    epoch: number,
    utterance: number,
  });
  fc.assert(
    fc.property(fc.uint8Array(), fields, (payload, numbers) => {
      const frame = new AudioFrame(payload, numbers);
      expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
    }),
  );
});
