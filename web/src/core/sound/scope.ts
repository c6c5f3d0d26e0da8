/** The scope that a worklet runs in, which TypeScript's DOM library does not know. */

export interface Processor {
  readonly port: MessagePort;
}

export interface WorkletScope {
  readonly AudioWorkletProcessor: new () => Processor;
  readonly sampleRate: number;
  /** Samples that the context has rendered before the current quantum. */
  readonly currentFrame: number;
  registerProcessor(
    name: string,
    processor: new (options: {
      processorOptions: never;
    }) => Processor & {
      process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
    },
  ): void;
}

export const scope = globalThis as unknown as WorkletScope;

/** Names under which the worklets register. */
export const PLAYOUT = "legato-playout";
export const CAPTURE = "legato-capture";
