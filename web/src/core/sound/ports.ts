/** What the page and its worklets tell each other. Buffers are transferred, not copied. */

import type { Level } from "./meter.ts";
import type { PlayoutState } from "./playout.ts";
import type { StartOptions } from "./start.ts";

/** How a stream is played. */
export interface Manner {
  /** Seconds to hold before playing; null: as the network has shown to need. */
  readonly depth: number | null;
  /** Whether gaps are faded; off: bit for bit what was pushed. */
  readonly effects: boolean;
  /** Whether to hash what is rendered. */
  readonly tap: boolean;
}

export type PlayerOrder =
  | ({ readonly kind: "begin"; readonly run: number } & Manner)
  | { readonly kind: "learn"; readonly start: StartOptions }
  /** `now`: monotonic seconds of the arrival. */
  | {
      readonly kind: "push";
      readonly pcm: ArrayBuffer;
      readonly sample: number;
      readonly now: number;
    }
  | { readonly kind: "end" | "digest" | "close" }
  | { readonly kind: "stop"; readonly upto: number };

/** How playing stands; `frame` is where the context was. */
export interface Standing {
  readonly frame: number;
  readonly state: PlayoutState;
  readonly playedUpto: number;
  readonly buffered: number;
  readonly depth: number;
  readonly stalls: number;
  readonly stalled: number;
  readonly late: number;
  readonly dropped: number;
  readonly level: Level;
}

/** `run` tells which `begin` it belongs to; `frame` counts samples of the context. */
export type PlayerNews = { readonly run: number } & (
  | ({ readonly kind: "standing" } & Standing)
  | { readonly kind: "audible"; readonly playedFrame: number; readonly audibleFrame: number }
  | { readonly kind: "finished"; readonly frame: number; readonly playedUpto: number }
  | { readonly kind: "silent"; readonly frame: number }
  | { readonly kind: "digest"; readonly sha256: string; readonly samples: number }
);

export interface CaptureOptions {
  /** Samples of a frame. */
  readonly frameSamples: number;
}

export type CaptureOrder = { readonly kind: "stop" };

export type CaptureNews =
  | {
      readonly kind: "frame";
      readonly pcm: ArrayBuffer;
      readonly sample: number;
      /** Where the context was after its last sample. */
      readonly frame: number;
      readonly gaps: number;
      readonly level: Level;
    }
  /** Nothing more comes. */
  | { readonly kind: "stopped"; readonly samples: number };
