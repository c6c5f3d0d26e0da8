/** A line chart of the last while, in the page's colours. */

import { useEffect, useRef } from "preact/hooks";
import { animate, type Surface } from "./canvas.ts";
import { significant } from "./figures.ts";
import type { Points } from "./samples.ts";
import { colour } from "./theme.ts";

export interface Line {
  /** Name of a colour variable. */
  readonly colour: string;
  readonly dashed?: boolean;
  readonly points: () => Points;
}

export interface ChartProps {
  readonly label: string;
  readonly lines: readonly Line[];
  /** Monotonic seconds: the right edge. */
  readonly now: () => number;
  /** Without axes it is a sparkline. */
  readonly axes?: boolean;
  /** Seconds shown. */
  readonly span: number;
  /** Seconds between two pictures. */
  readonly every?: number;
  /** A value as it stands at the axis. */
  readonly format?: (value: number) => string;
}

export function Chart(props: ChartProps) {
  const { label, axes = false, every = 0.2 } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const place = canvas.current;
    if (!place) return;
    return animate(place, (found) => draw(found, latest.current), every);
  }, [every]);
  return (
    <div class={axes ? "chart tall" : "chart"}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}

/** The least of 1, 2, 5 times a power of ten that is not below `most`. */
export function ceiling(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const steps = [1, 2, 5, 10].map((step) => step * power);
  return steps.find((step) => step >= most * (1 - 1e-9)) ?? 10 * power;
}

/** CSS pixels that the axes take. */
const LEFT = 52;
const BELOW = 18;
const FONT = 11;
/** So many values, at the most, have a mark each. */
const FEW = 3;

function draw(surface: Surface, { lines, now, axes = false, span, format }: ChartProps): void {
  const { context, scale, width, height } = surface;
  const all = lines.map((line) => ({ ...line, points: line.points() }));
  const instant = now();
  const since = instant - span;
  const shown = all.flatMap(({ points: { times, values } }) =>
    values.filter((_, index) => (times[index] ?? 0) >= since),
  );
  const top = ceiling(Math.max(0, ...shown));
  const left = axes ? LEFT * scale : 0;
  const bottom = height - (axes ? BELOW * scale : scale);
  const above = axes ? FONT * scale : scale;
  const x = (time: number) => left + ((time - since) / span) * (width - left);
  const y = (value: number) => bottom - (value / top) * (bottom - above);
  const frame = { left, bottom, top, y };
  if (axes) drawAxes(surface, frame, span, format ?? significant);
  context.lineJoin = "round";
  context.lineWidth = 1.5 * scale;
  for (const { colour: name, dashed, points } of all) {
    context.strokeStyle = colour(name);
    context.setLineDash(dashed ? [4 * scale, 3 * scale] : []);
    const path = points.times.flatMap((time, index) =>
      time < since ? [] : [[x(time), y(points.values[index] ?? 0)] as const],
    );
    context.beginPath();
    for (const [right, down] of path) context.lineTo(right, down);
    context.stroke();
    context.fillStyle = context.strokeStyle;
    // A few values are seen as such; many are a line.
    for (const [right, down] of path.length > FEW ? [] : path) {
      context.fillRect(right - 1.5 * scale, down - 1.5 * scale, 3 * scale, 3 * scale);
    }
  }
  context.setLineDash([]);
}

interface Frame {
  readonly left: number;
  readonly bottom: number;
  readonly top: number;
  readonly y: (value: number) => number;
}

function drawAxes(
  { context, scale, width }: Surface,
  { left, bottom, top, y }: Frame,
  span: number,
  format: (value: number) => string,
): void {
  context.font = `${FONT * scale}px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const value of [0, top / 2, top]) {
    context.fillStyle = colour("--hairline");
    context.fillRect(left, Math.round(y(value)), width - left, Math.max(1, Math.round(scale)));
    context.fillStyle = colour("--soft");
    context.fillText(format(value), left - 6 * scale, y(value));
  }
  context.textBaseline = "alphabetic";
  const unit = span > 120 ? ([60, "min"] as const) : ([1, "s"] as const);
  for (const part of [1, 0.5, 0]) {
    context.textAlign = part === 1 ? "left" : part === 0 ? "right" : "center";
    const words = `${significant((-part * span) / unit[0])} ${unit[1]}`;
    context.fillText(words, left + (1 - part) * (width - left), bottom + 14 * scale);
  }
}
