/** The microphone's samples, framed in the audio thread. */

import { type CapturedFrame, Framer } from "./capture.ts";
import type { CaptureNews, CaptureOptions, CaptureOrder } from "./ports.ts";
import { CAPTURE, scope } from "./scope.ts";

/** Samples of a render quantum (Web Audio API 1.0, 1.1). */
const QUANTUM = 128;

class CaptureProcessor extends scope.AudioWorkletProcessor {
  readonly #framer: Framer;
  #stopped = false;

  constructor({ processorOptions }: { processorOptions: CaptureOptions }) {
    super();
    this.#framer = new Framer(processorOptions.frameSamples);
    this.port.onmessage = ({ data }: MessageEvent<CaptureOrder>) => {
      if (data.kind === "stop" && !this.#stopped) this.#stop();
    };
  }

  process(inputs: Float32Array[][]): boolean {
    if (this.#stopped) return false;
    const quantum = inputs[0]?.[0];
    const length = quantum?.length ?? QUANTUM;
    const frames = this.#framer.add(quantum, scope.currentFrame, length);
    for (const frame of frames) this.#give(frame, scope.currentFrame + length);
    return true;
  }

  #stop(): void {
    this.#stopped = true;
    const rest = this.#framer.rest();
    if (rest) this.#give(rest, scope.currentFrame);
    this.#tell({ kind: "stopped", samples: this.#framer.samples });
  }

  #give({ pcm, sample, gaps, level }: CapturedFrame, frame: number): void {
    const buffer = pcm.buffer as ArrayBuffer;
    this.#tell({ kind: "frame", pcm: buffer, sample, frame, gaps, level }, [buffer]);
  }

  #tell(news: CaptureNews, transfer: Transferable[] = []): void {
    this.port.postMessage(news, transfer);
  }
}

scope.registerProcessor(CAPTURE, CaptureProcessor);
