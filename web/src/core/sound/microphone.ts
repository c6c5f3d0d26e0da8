/** A microphone as frames of 16 bit samples, at the device's own rate if a server takes that. */

import {
  addWorklet,
  makeContext,
  monotonic,
  resume,
  type SoundState,
  soundState,
} from "./context.ts";
import { captureError, SoundError } from "./failure.ts";
import { type Level, SILENCE } from "./meter.ts";
import type { CaptureNews, CaptureOptions, CaptureOrder } from "./ports.ts";
import { CAPTURE } from "./scope.ts";
import { captureUrl } from "./worklets.ts";

/** What anything that is listened to gives: a microphone, a file. */
export interface HeardFrame {
  /** One channel; yours to keep. */
  readonly pcm: Int16Array;
  /** Position of its first sample. */
  readonly sample: number;
  readonly level: Level;
  /** When it came, seconds of `performance.now()`. */
  readonly now: number;
}

export interface MicrophoneOptions {
  /** As `MediaDeviceInfo.deviceId`; without it the default device. */
  readonly deviceId?: string;
  /** The browser's own treatment; all on by default, off for measurements. */
  readonly echoCancellation?: boolean;
  readonly noiseSuppression?: boolean;
  readonly autoGainControl?: boolean;
  /** Milliseconds of a frame, 20 by default. */
  readonly frameMs?: number;
  /** Address of the built worklet, for pages that are built otherwise. */
  readonly workletUrl?: string;
  readonly onFrame?: (frame: HeardFrame) => void;
  /** The device went away and no other took its place; the microphone is stopped. */
  readonly onFailure?: (error: SoundError) => void;
  /** Devices came or went; `label` is the one that is used now. */
  readonly onDevices?: (devices: readonly MediaDeviceInfo[], label: string) => void;
  readonly onSound?: (state: SoundState) => void;
}

/** Seconds that the last frame is waited for. */
const STOP_WAIT = 1;

/** Hz that a server takes at the most; above it, the browser is to resample. */
export const MOST_RATE = 48_000;

/** Microphones that the browser knows; without permission their labels are empty. */
export async function microphones(): Promise<MediaDeviceInfo[]> {
  const devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  return devices.filter(({ kind }) => kind === "audioinput");
}

/** Hears from `start` to `stop`; make another one to hear again. */
export class Microphone {
  readonly #options: MicrophoneOptions;
  #context: AudioContext | null = null;
  #stream: MediaStream | null = null;
  #source: MediaStreamAudioSourceNode | null = null;
  #node: AudioWorkletNode | null = null;
  #sampleRate = 0;
  #stopped = false;
  #whole: () => void = () => {};
  /** Frames given, and quanta that the device failed to give (silence stands for them). */
  frames = 0;
  gaps = 0;
  level: Level = SILENCE;

  constructor(options: MicrophoneOptions = {}) {
    this.#options = options;
  }

  get sound(): SoundState {
    return soundState(this.#context);
  }

  /** Hz of the samples, 48,000 at the most: what to declare to the server. Known once `start` is called. */
  get sampleRate(): number {
    return this.#sampleRate;
  }

  /** Name of the device, empty until it is open. */
  get label(): string {
    return this.#stream?.getAudioTracks()[0]?.label ?? "";
  }

  /**
   * Ask for the device and hear; call it inside the handler of a click or a key.
   *
   * @throws SoundError `insecure_origin`, `permission_denied`, `no_device`, `device_busy`,
   *   `rate_too_high`, `sound_suspended` or `unsupported`; nothing stays open then.
   */
  async start(): Promise<void> {
    try {
      const context = makeListening();
      this.#context = context;
      this.#sampleRate = context.sampleRate;
      context.onstatechange = () => this.#options.onSound?.(soundState(this.#context));
      // Asked for inside the click, which is long ago when the user has given permission.
      const [resuming, loading] = [context.resume(), this.#load(context)];
      // Whoever hears of them later hears of the first that fails; none is left unhandled.
      Promise.allSettled([resuming, loading]);
      this.#stream = await this.#ask(this.#options.deviceId);
      await loading;
      if (this.#stopped) return release(this.#stream);
      this.#connect(context, this.#stream);
      await resume(context);
      navigator.mediaDevices.addEventListener("devicechange", this.#look);
    } catch (error) {
      const wasStopped = this.#stopped;
      await this.#release();
      if (!wasStopped) throw captureError(error);
    }
  }

  /** Hear no more; what was heard up to now is given before the promise resolves. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const node = this.#node;
    if (node !== null) {
      const whole = new Promise<void>((resolve) => {
        this.#whole = resolve;
        setTimeout(resolve, STOP_WAIT * 1000);
      });
      node.port.postMessage({ kind: "stop" } satisfies CaptureOrder);
      await whole;
    }
    await this.#release();
  }

  async #load(context: AudioContext): Promise<void> {
    await addWorklet(context, this.#options.workletUrl ?? captureUrl);
  }

  async #ask(deviceId: string | undefined): Promise<MediaStream> {
    const { echoCancellation = true, noiseSuppression = true } = this.#options;
    const { autoGainControl = true } = this.#options;
    const treatment = { channelCount: 1, echoCancellation, noiseSuppression, autoGainControl };
    const device = deviceId === undefined ? {} : { deviceId: { exact: deviceId } };
    const audio = { ...treatment, ...device };
    return await navigator.mediaDevices.getUserMedia({ audio });
  }

  #connect(context: AudioContext, stream: MediaStream): void {
    this.#stream = stream;
    const frameSamples = Math.round((context.sampleRate * (this.#options.frameMs ?? 20)) / 1000);
    this.#node ??= this.#made(context, { frameSamples });
    this.#source?.disconnect();
    this.#source = sourceOf(context, stream);
    this.#source.connect(this.#node);
    const [track] = stream.getAudioTracks();
    if (track) track.onended = () => void this.#replace();
  }

  #made(context: AudioContext, processorOptions: CaptureOptions): AudioWorkletNode {
    const node = new AudioWorkletNode(context, CAPTURE, {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions,
    });
    node.port.onmessage = ({ data }: MessageEvent<CaptureNews>) => this.#hear(data);
    return node;
  }

  #hear(news: CaptureNews): void {
    if (news.kind === "stopped") {
      this.#whole();
      return;
    }
    const { sample, level, gaps } = news;
    this.frames += 1;
    this.gaps = gaps;
    this.level = level;
    const pcm = new Int16Array(news.pcm);
    this.#options.onFrame?.({ pcm, sample, level, now: monotonic() });
  }

  readonly #look = async (): Promise<void> => {
    const devices = await microphones();
    if (!this.#stopped) this.#options.onDevices?.(devices, this.label);
  };

  /** The device was unplugged: go on with the default one, if there is any. */
  async #replace(): Promise<void> {
    const context = this.#context;
    if (this.#stopped || context === null) return;
    try {
      const stream = await this.#ask(undefined);
      if (this.#stopped) return release(stream);
      this.#connect(context, stream);
      await this.#look();
    } catch (error) {
      await this.stop();
      const { code, message } = captureError(error);
      this.#options.onFailure?.(new SoundError(code, message, error));
    }
  }

  async #release(): Promise<void> {
    const context = this.#context;
    this.#stopped = true;
    navigator.mediaDevices?.removeEventListener("devicechange", this.#look);
    if (this.#stream) release(this.#stream);
    this.#source?.disconnect();
    this.#node?.port.close();
    this.#context = null;
    this.#stream = null;
    this.#source = null;
    this.#node = null;
    this.level = SILENCE;
    await context?.close();
  }
}

/** A context at the device's own rate, or at the highest one that a server takes. */
function makeListening(): AudioContext {
  const context = makeContext(true);
  if (context.sampleRate <= MOST_RATE) return context;
  void context.close();
  return makeContext(true, MOST_RATE);
}

/** What the device gives; Chromium and Safari resample it where the context has another rate. */
function sourceOf(context: AudioContext, stream: MediaStream): MediaStreamAudioSourceNode {
  try {
    return context.createMediaStreamSource(stream);
  } catch (error) {
    const isRate = error instanceof DOMException && error.name === "NotSupportedError";
    if (!isRate) throw error;
    const sentence = `The browser does not convert this device to ${context.sampleRate} Hz.`;
    throw new SoundError("rate_too_high", sentence, error);
  }
}

function release(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
