import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileRate, readWav, wavBlob, wavBytes } from "../../src/core/sound/wav.ts";

const VECTORS: { sample_rate: number; samples: readonly number[]; hex: string } = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/wav.json", import.meta.url), "utf-8"),
);

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

it("writes WAV as Python does, in however many pieces", () => {
  const pcm = Int16Array.from(VECTORS.samples);
  const pieces = [pcm.subarray(0, 2), new Int16Array(0), pcm.subarray(2)];
  expect(Buffer.from(wavBytes(pieces, VECTORS.sample_rate)).toString("hex")).toBe(VECTORS.hex);
});

it("makes a file of its type", () => {
  const blob = wavBlob([new Int16Array(3)], 8_000);
  expect([blob.type, blob.size]).toEqual(["audio/wav", 50]);
});

describe("the rate of a file", () => {
  it("is read back from a WAV file", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 384_000 }), (rate) => {
        expect(fileRate(wavBytes([], rate))).toBe(rate);
      }),
    );
  });

  it("is found behind other chunks, which are padded to even lengths", () => {
    const wav = wavBytes([], 22_050);
    const list = bytesOf("LIST\x03\0\0\0abc\0");
    const bytes = new Uint8Array([...wav.subarray(0, 12), ...list, ...wav.subarray(12)]);
    expect(fileRate(bytes)).toBe(22_050);
  });

  it("is read from a FLAC file", () => {
    const bytes = new Uint8Array(42);
    bytes.set(bytesOf("fLaC"));
    bytes.set([(44_100 >> 12) & 255, (44_100 >> 4) & 255, (44_100 << 4) & 255], 18);
    expect(fileRate(bytes)).toBe(44_100);
  });

  it.each(["", "RIFF", "RIFF\0\0\0\0WAVEfmt ", "fLaC", "OggS and more", "RIFF\0\0\0\0AVI LIST"])(
    "is unknown in %j",
    (text) => {
      expect(fileRate(bytesOf(text))).toBeNull();
    },
  );

  it("is unknown in bytes that are no audio, without an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom("", "fLaC"), (rest, tag) => {
        const rate = fileRate(new Uint8Array([...bytesOf(tag), ...rest]));
        expect(rate === null || rate > 0).toBe(true);
      }),
    );
  });
});

describe("the samples of a WAV file", () => {
  it("are what was written", () => {
    fc.assert(
      fc.property(
        fc.int16Array({ minLength: 1 }),
        fc.integer({ min: 1, max: 384_000 }),
        (pcm, rate) => {
          expect(readWav(wavBytes([pcm], rate))).toEqual({ pcm, sampleRate: rate });
        },
      ),
    );
  });

  it("are those that Python wrote", () => {
    const file = new Uint8Array(Buffer.from(VECTORS.hex, "hex"));
    expect([...(readWav(file)?.pcm ?? [])]).toEqual(VECTORS.samples);
  });

  function wav(at: number, value: number): Uint8Array {
    const bytes = wavBytes([Int16Array.of(10, 20, -30_000, -31_000, 7)], 8_000);
    new DataView(bytes.buffer).setUint16(at, value, true);
    return bytes;
  }

  it("of several channels are their mean", () => {
    expect([...(readWav(wav(22, 2))?.pcm ?? [])]).toEqual([15, -30_500]);
  });

  it("reach to the end of a file that was written as a stream", () => {
    const bytes = wav(40, 0xffff);
    new DataView(bytes.buffer).setUint32(40, 0xffff_ffff, true);
    expect(readWav(bytes)?.pcm).toHaveLength(5);
  });

  it.each([
    ["another coding", 20, 3],
    ["another depth", 34, 24],
    ["no channels", 22, 0],
    ["no length", 40, 0],
  ])("are left to the browser with %s", (_, at, value) => {
    expect(readWav(wav(at, value))).toBeNull();
  });

  it("are none in other bytes, without an error", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (bytes, cut) => {
          readWav(bytes);
          readWav(wavBytes([Int16Array.of(1, 2)], 8_000).subarray(0, cut));
        },
      ),
    );
    expect(readWav(bytesOf("OggS"))).toBeNull();
  });
});
