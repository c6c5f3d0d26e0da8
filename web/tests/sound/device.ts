/** A sound device in virtual time that runs the real worklets, quantum by quantum. */

import { vi } from "vitest";
import { CAPTURE, PLAYOUT } from "../../src/core/sound/scope.ts";

export const QUANTUM = 128;
export const RATE = 8_000;

interface Runnable {
  readonly port: FakePort;
  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

type Made = new (options: unknown) => Runnable;

/** One end of a channel; what is posted is there when the microtasks have run. */
class FakePort {
  other: FakePort | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;

  postMessage(message: unknown, transfer: ArrayBuffer[] = []): void {
    const data = structuredClone(message, { transfer });
    queueMicrotask(() => this.other?.onmessage?.({ data }));
  }

  close(): void {
    this.other = null;
  }
}

const processors = new Map<string, Made>();
let made: FakePort;

const scope = {
  currentFrame: 0,
  sampleRate: RATE,
  AudioWorkletProcessor: class {
    readonly port = made;
  },
  registerProcessor: (name: string, processor: Made) => void processors.set(name, processor),
};

export class FakeNode {
  readonly port = new FakePort();
  readonly processor: Runnable;
  readonly context: FakeContext;
  isConnected = false;

  constructor(context: FakeContext, name: string, options: unknown) {
    const inner = new FakePort();
    [inner.other, this.port.other] = [this.port, inner];
    made = inner;
    this.processor = new (processors.get(name) as Made)(options);
    this.context = context;
    context.nodes.push(this);
  }

  connect(): void {
    this.isConnected = true;
  }

  disconnect(): void {
    this.isConnected = false;
  }
}

export class FakeContext {
  static all: FakeContext[] = [];
  /** What `resume` of contexts made from now on leads to. */
  static runs = true;
  static loads = true;
  /** Hz of the device. */
  static rate = RATE;
  /** Whether a microphone of another rate is resampled; Firefox does not. */
  static resamples = true;

  readonly sampleRate: number;
  readonly destination = {};
  readonly baseLatency = 0.01;
  readonly outputLatency = 0;
  readonly nodes: FakeNode[] = [];
  state = "suspended";
  frame = 0;
  onstatechange: (() => void) | null = null;
  readonly audioWorklet = {
    addModule: async () => {
      if (!FakeContext.loads) throw new Error("404");
    },
  };

  constructor({ sampleRate = FakeContext.rate }: { sampleRate?: number } = {}) {
    this.sampleRate = sampleRate;
    FakeContext.all.push(this);
  }

  get currentTime(): number {
    return this.frame / this.sampleRate;
  }

  getOutputTimestamp() {
    return { contextTime: this.currentTime, performanceTime: performance.now() + 10 };
  }

  async resume(): Promise<void> {
    if (!FakeContext.runs) return new Promise(() => {});
    this.become("running");
  }

  become(state: string): void {
    this.state = state;
    this.onstatechange?.();
  }

  async close(): Promise<void> {
    this.become("closed");
  }

  createMediaStreamSource(stream: unknown) {
    if (!FakeContext.resamples && this.sampleRate !== FakeContext.rate) {
      throw new DOMException("other rate", "NotSupportedError");
    }
    return { stream, connect: () => {}, disconnect: () => {} };
  }

  /** Render so many quanta; what came out of each node's first channel, or went in. */
  async render(quanta: number, input?: (frame: number) => Float32Array | undefined) {
    const out: number[] = [];
    for (let count = 0; count < quanta; count += 1) {
      scope.currentFrame = this.frame;
      const quantum = new Float32Array(QUANTUM);
      const heard = input?.(this.frame);
      for (const { processor } of this.nodes)
        processor.process([heard ? [heard] : []], [[quantum]]);
      out.push(...Array.from(quantum, (value) => Math.round(value * 32_768)));
      this.frame += QUANTUM;
      await settle();
    }
    return out;
  }
}

/** Let everything that was posted arrive. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Put the device into the page and load the worklets into it. */
export async function plugIn(mediaDevices: unknown = undefined): Promise<void> {
  Object.assign(FakeContext, { all: [], runs: true, loads: true, rate: RATE, resamples: true });
  vi.stubGlobal("AudioContext", FakeContext);
  vi.stubGlobal("AudioWorklet", Object);
  vi.stubGlobal("AudioWorkletNode", FakeNode);
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("navigator", { mediaDevices });
  for (const [name, value] of Object.entries(scope)) vi.stubGlobal(name, value);
  Object.defineProperty(globalThis, "currentFrame", {
    configurable: true,
    get: () => scope.currentFrame,
  });
  if (processors.size === 0) {
    await import("../../src/core/sound/playout.worklet.ts");
    await import("../../src/core/sound/capture.worklet.ts");
  }
  if (!processors.has(PLAYOUT) || !processors.has(CAPTURE)) throw new Error("no worklets");
}

export function context(): FakeContext {
  const last = FakeContext.all.at(-1);
  if (!last) throw new Error("no context was made");
  return last;
}
