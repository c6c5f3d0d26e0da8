import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SoundError } from "../../src/core/sound/failure.ts";
import {
  type HeardFrame,
  Microphone,
  type MicrophoneOptions,
  microphones,
} from "../../src/core/sound/microphone.ts";
import { context, FakeContext, plugIn, QUANTUM, RATE, settle } from "./device.ts";

interface FakeTrack {
  readonly label: string;
  readonly stop: () => void;
  onended: (() => void) | null;
}

class FakeDevices extends EventTarget {
  readonly asked: { audio: Record<string, unknown> }[] = [];
  readonly tracks: FakeTrack[] = [];
  failure: Error | null = null;

  async getUserMedia(constraints: { audio: Record<string, unknown> }) {
    this.asked.push(constraints);
    if (this.failure) throw this.failure;
    const label = `microphone ${this.tracks.length}`;
    const track: FakeTrack = { label, stop: vi.fn(), onended: null };
    this.tracks.push(track);
    return { getAudioTracks: () => [track], getTracks: () => [track] };
  }

  async enumerateDevices() {
    return [{ kind: "audioinput", deviceId: "a" }, { kind: "audiooutput" }];
  }
}

let devices: FakeDevices;

beforeEach(async () => {
  vi.useFakeTimers();
  devices = new FakeDevices();
  await plugIn(devices);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function listening(options: MicrophoneOptions = {}) {
  const heard: HeardFrame[] = [];
  const microphone = new Microphone({ ...options, onFrame: (frame) => heard.push(frame) });
  return { microphone, heard };
}

const LOUD = () => new Float32Array(QUANTUM).fill(0.5);

describe("hearing", () => {
  it("gives frames of 20 ms at the device's own rate", async () => {
    const { microphone, heard } = listening();
    await microphone.start();
    await context().render(5, LOUD);
    expect(microphone.sampleRate).toBe(RATE);
    expect(heard.map(({ sample, pcm }) => [sample, pcm.length])).toEqual([
      [0, 160],
      [160, 160],
      [320, 160],
      [480, 160],
    ]);
    expect(heard[0]?.pcm.every((value) => value === 16_384)).toBe(true);
    expect(microphone).toMatchObject({ frames: 4, gaps: 0, level: { rms: 0.5, peak: 0.5 } });
  });

  it("gives longer frames if asked to", async () => {
    const { microphone, heard } = listening({ frameMs: 200 });
    await microphone.start();
    await context().render(13, LOUD);
    expect(heard.map(({ pcm }) => pcm.length)).toEqual([1_600]);
  });

  it("counts quanta that the device failed to give", async () => {
    const { microphone } = listening();
    await microphone.start();
    await context().render(4, LOUD);
    context().frame += 3 * QUANTUM;
    await context().render(4, LOUD);
    expect(microphone.gaps).toBe(3);
  });

  it("asks for the device and the treatment that were chosen", async () => {
    await new Microphone({
      deviceId: "b",
      echoCancellation: false,
      autoGainControl: false,
    }).start();
    expect(devices.asked[0]?.audio).toEqual({
      channelCount: 1,
      deviceId: { exact: "b" },
      echoCancellation: false,
      noiseSuppression: true,
      autoGainControl: false,
    });
  });
});

describe("a device above 48 kHz", () => {
  it("is resampled by the browser", async () => {
    FakeContext.rate = 96_000;
    const { microphone, heard } = listening();
    await microphone.start();
    expect(FakeContext.all.map(({ sampleRate, state }) => [sampleRate, state])).toEqual([
      [96_000, "closed"],
      [48_000, "running"],
    ]);
    await context().render(8, LOUD);
    expect(microphone.sampleRate).toBe(48_000);
    expect(heard.map(({ pcm }) => pcm.length)).toEqual([960]);
  });

  it("that the browser does not resample is told, and released", async () => {
    Object.assign(FakeContext, { rate: 192_000, resamples: false });
    await expect(new Microphone().start()).rejects.toMatchObject({ code: "rate_too_high" });
    expect(devices.tracks[0]?.stop).toHaveBeenCalled();
    expect(FakeContext.all.map(({ state }) => state)).toEqual(["closed", "closed"]);
  });

  it("that fails for another reason is told as before", async () => {
    FakeContext.rate = 48_000;
    vi.spyOn(FakeContext.prototype, "createMediaStreamSource").mockImplementation(() => {
      throw new TypeError("no audio");
    });
    await expect(new Microphone().start()).rejects.toMatchObject({ code: "unsupported" });
    vi.restoreAllMocks();
  });
});

describe("stopping", () => {
  it("gives the rest, releases the device and frees the node", async () => {
    const { microphone, heard } = listening();
    await microphone.start();
    const [node] = context().nodes;
    await context().render(2, LOUD);
    await microphone.stop();
    expect(heard.map(({ pcm }) => pcm.length)).toEqual([160, 96]);
    expect(devices.tracks[0]?.stop).toHaveBeenCalledOnce();
    expect(context().state).toBe("closed");
    expect(node?.processor.process([[LOUD()]], [])).toBe(false);
    expect(microphone).toMatchObject({ sound: "closed", sampleRate: RATE, level: { rms: 0 } });
    await microphone.stop();
  });

  it("while permission is asked for releases what is given later", async () => {
    const { microphone, heard } = listening();
    const starting = microphone.start();
    await microphone.stop();
    await starting;
    expect(devices.tracks[0]?.stop).toHaveBeenCalled();
    expect(heard).toEqual([]);
    expect(context().nodes).toEqual([]);
  });
});

describe("what goes wrong", () => {
  it.each([
    ["NotAllowedError", "permission_denied"],
    ["NotFoundError", "no_device"],
    ["NotReadableError", "device_busy"],
  ])("%s is told as %s, and nothing stays open", async (name, code) => {
    devices.failure = Object.assign(new Error(name), { name });
    const { microphone } = listening();
    await expect(microphone.start()).rejects.toMatchObject({ code });
    expect(context().state).toBe("closed");
  });

  it("a page without a click is told, and the device is released", async () => {
    FakeContext.runs = false;
    const { microphone } = listening();
    const refused = expect(microphone.start()).rejects.toMatchObject({ code: "sound_suspended" });
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    expect(devices.tracks[0]?.stop).toHaveBeenCalled();
  });

  it("a worklet that does not load is told, and the device is released", async () => {
    FakeContext.loads = false;
    await expect(new Microphone().start()).rejects.toMatchObject({ code: "not_loaded" });
    expect(devices.tracks[0]?.stop).toHaveBeenCalled();
  });

  it("an insecure page has no microphones", async () => {
    vi.stubGlobal("navigator", {});
    vi.stubGlobal("isSecureContext", false);
    await expect(new Microphone().start()).rejects.toMatchObject({ code: "insecure_origin" });
    expect(await microphones()).toEqual([]);
  });
});

describe("devices that come and go", () => {
  it("are told", async () => {
    const onDevices = vi.fn();
    const { microphone } = listening({ onDevices });
    await microphone.start();
    devices.dispatchEvent(new Event("devicechange"));
    await settle();
    expect(onDevices).toHaveBeenCalledWith([{ kind: "audioinput", deviceId: "a" }], "microphone 0");
    await microphone.stop();
    devices.dispatchEvent(new Event("devicechange"));
    await settle();
    expect(onDevices).toHaveBeenCalledOnce();
  });

  it("are replaced by the default one, in the same stream of samples", async () => {
    const onDevices = vi.fn();
    const { microphone, heard } = listening({ deviceId: "b", onDevices });
    await microphone.start();
    await context().render(5, LOUD);
    devices.tracks[0]?.onended?.();
    await settle();
    expect(devices.asked[1]?.audio).not.toHaveProperty("deviceId");
    expect(microphone.label).toBe("microphone 1");
    expect(onDevices).toHaveBeenCalledOnce();
    await context().render(5, LOUD);
    expect(heard.at(-1)?.sample).toBe(7 * 160);
  });

  it("end the microphone if there is no other", async () => {
    const failures: SoundError[] = [];
    const { microphone } = listening({ onFailure: (error) => failures.push(error) });
    await microphone.start();
    devices.failure = Object.assign(new Error("gone"), { name: "NotFoundError" });
    devices.tracks[0]?.onended?.();
    await settle();
    await settle();
    expect(failures.map(({ code }) => code)).toEqual(["no_device"]);
    expect(microphone.sound).toBe("closed");
  });
});
