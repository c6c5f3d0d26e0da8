import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HeardFrame } from "../../src/core/sound/microphone.ts";
import { framesOf, mixed, openRecording, Tape } from "../../src/core/sound/recording.ts";
import { wavBlob } from "../../src/core/sound/wav.ts";

const RATE = 8_000;

function ramp(samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, at) => at);
}

it("opens a WAV file as it is, without the browser's decoder", async () => {
  const pcm = Int16Array.from({ length: 500 }, (_, at) => at * 131 - 32_768);
  expect(await openRecording(wavBlob([pcm], 22_050))).toEqual({ pcm, sampleRate: 22_050 });
});

describe("another file", () => {
  class FakeDecoder {
    static rates: number[] = [];
    constructor(_channels: number, _length: number, rate: number) {
      FakeDecoder.rates.push(rate);
    }

    async decodeAudioData(bytes: ArrayBuffer) {
      if (bytes.byteLength < 10) throw new DOMException("no", "EncodingError");
      const channels = [Float32Array.of(0.5, 0), Float32Array.of(0, 0)];
      const getChannelData = (channel: number) => channels[channel];
      return { numberOfChannels: 2, sampleRate: FakeDecoder.rates.at(-1), getChannelData };
    }
  }

  beforeEach(() => void vi.stubGlobal("OfflineAudioContext", FakeDecoder));
  afterEach(() => void vi.unstubAllGlobals());

  it("is opened by the browser, as one channel", async () => {
    const recording = await openRecording(new Blob(["OggS and so on"]));
    expect(recording).toEqual({ pcm: Int16Array.of(8_192, 0), sampleRate: 48_000 });
  });

  it.each([
    [96_000, 48_000],
    [192_000, 48_000],
    [6_000, 8_000],
  ])("such as a WAV file of %i Hz is resampled to %i Hz", async (rate, expected) => {
    const recording = await openRecording(wavBlob([ramp(500)], rate));
    expect(recording).toEqual({ pcm: Int16Array.of(8_192, 0), sampleRate: expected });
  });

  it("that it cannot read is told", async () => {
    const opening = openRecording(new Blob(["nonsense"]));
    await expect(opening).rejects.toMatchObject({ code: "unreadable_file" });
  });
});

it("mixes channels to their mean", () => {
  const pcm = mixed([Float32Array.of(0.5, 1, -1), Float32Array.of(0, 1, -1)]);
  expect([...pcm]).toEqual([8_192, 32_767, -32_768]);
  expect(mixed([])).toHaveLength(0);
});

it("frames hold every sample once", () => {
  fc.assert(
    fc.property(
      fc.int16Array({ maxLength: 500 }),
      fc.integer({ min: 1, max: 60 }),
      (pcm, length) => {
        const frames = [...framesOf(pcm, length)];
        expect(frames.flatMap((frame) => [...frame.pcm])).toEqual([...pcm]);
        expect(frames.map(({ sample }) => sample)).toEqual(
          frames.map((_, index) => index * length),
        );
      },
    ),
  );
});

describe("a tape", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function taped(samples: number, paced?: boolean) {
    const heard: HeardFrame[] = [];
    const onEnd = vi.fn();
    const options = paced === undefined ? {} : { paced };
    const recording = { pcm: ramp(samples), sampleRate: RATE };
    const tape = new Tape(recording, { ...options, onEnd, onFrame: (frame) => heard.push(frame) });
    return { tape, heard, onEnd };
  }

  it("gives a frame when it would have been spoken", () => {
    const { tape, heard, onEnd } = taped(400);
    tape.start();
    expect(heard).toHaveLength(0);
    vi.advanceTimersByTime(20);
    expect(heard.map(({ pcm }) => pcm.length)).toEqual([160]);
    vi.advanceTimersByTime(20);
    expect(heard).toHaveLength(2);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(20);
    expect(heard.map(({ sample }) => sample)).toEqual([0, 160, 320]);
    expect(heard[1]?.now).toBeGreaterThan(heard[0]?.now ?? 0);
    expect(onEnd).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives all at once if asked to", () => {
    const { tape, heard, onEnd } = taped(4_000, false);
    tape.start();
    expect(heard.flatMap(({ pcm }) => [...pcm])).toEqual([...ramp(4_000)]);
    expect(onEnd).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes up for timers that a hidden tab delays", () => {
    const { tape, heard } = taped(RATE);
    tape.start();
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 500);
    vi.advanceTimersByTime(20);
    clock.mockRestore();
    expect(heard).toHaveLength(25);
  });

  it("gives nothing after a stop, from within a frame too", () => {
    const { tape, onEnd } = taped(RATE);
    const heard: number[] = [];
    const inner = new Tape(
      { pcm: ramp(RATE), sampleRate: RATE },
      {
        paced: false,
        onFrame: ({ sample }) => {
          heard.push(sample);
          inner.stop();
        },
      },
    );
    inner.start();
    tape.start();
    tape.stop();
    vi.advanceTimersByTime(5_000);
    expect(heard).toEqual([0]);
    expect(onEnd).not.toHaveBeenCalled();
  });
});
