/** The sound as it came, and how far it was heard. */

import { useEffect, useRef } from "preact/hooks";
import { animate, fill, type Surface } from "./canvas.ts";
import { span, type Take } from "./take.ts";
import { colour } from "./theme.ts";

export interface WaveformProps {
  readonly take: Take | undefined;
  /** Seconds that were heard; undefined where nothing is played. */
  readonly playhead: (() => number) | undefined;
  readonly isMoving: boolean;
  readonly label: string;
  readonly low?: boolean;
}

/** CSS pixels of a bar and of the gap after it. */
const BAR = 2;
const GAP = 1;

export function Waveform({ take, playhead, isMoving, label, low }: WaveformProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (!canvas.current) return;
    return animate(
      canvas.current,
      (surface) => drawWave(surface, take, playhead?.()),
      isMoving ? 1 / (playhead ? 20 : 10) : undefined,
    );
  }, [take, playhead, isMoving]);
  return (
    <div class={low ? "wave low" : "wave"}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}

function drawWave(surface: Surface, take: Take | undefined, heard: number | undefined): void {
  const { context, width, height, scale } = surface;
  const middle = height / 2;
  const total = take?.seconds ?? 0;
  const shown = span(total);
  const live = colour("--live");
  context.fillStyle = colour("--hairline");
  context.fillRect(0, Math.floor(middle), width, Math.max(1, Math.floor(scale)));
  const step = (BAR + GAP) * scale;
  const bars = Math.floor((width / step) * (total / shown));
  const columns = take?.peaks.columns(bars) ?? new Float32Array();
  const headAt = heard === undefined ? width : (heard / shown) * width;
  const shape = (bar: number) => {
    const top = middle - loudness(columns[2 * bar + 1] ?? 0) * middle;
    const bottom = middle + loudness(-(columns[2 * bar] ?? 0)) * middle;
    return [bar * step, top, BAR * scale, Math.max(scale, bottom - top)] as const;
  };
  const shapes = Array.from({ length: bars }, (_, bar) => shape(bar));
  const played = Math.min(bars, Math.ceil(headAt / step));
  fill(surface, colour("--edge"), shapes.slice(played));
  fill(surface, live, shapes.slice(0, played));
  if (heard === undefined || total === 0) return;
  context.fillStyle = live;
  context.fillRect(Math.round(headAt), 0, Math.max(1, Math.round(1.5 * scale)), height);
}

/** Quiet speech is made visible; 1 stays 1. */
function loudness(size: number): number {
  return 0.94 * Math.max(0, size) ** 0.7;
}
