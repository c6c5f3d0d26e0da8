/** How loud it is now, on a scale of decibels. */

import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Level } from "../core/sound/index.ts";
import { animate, fill, type Surface } from "./canvas.ts";
import { t } from "./language.ts";
import { colour } from "./theme.ts";

/** Decibels of full scale at the left end. */
const FLOOR = -60;
/** CSS pixels of a bar and of the gap after it. */
const BAR = 4;
const GAP = 2;
/** From here on it may be clipped. */
const LOUD = -3;

/** 0 to 1 along the scale for a size of 0 to 1 of full scale. */
export function place(size: number): number {
  if (size <= 0) return 0;
  return Math.min(1, Math.max(0, 1 - (20 * Math.log10(size)) / FLOOR));
}

export function LevelMeter({ level, isMoving }: { level: Signal<Level>; isMoving: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (!canvas.current) return;
    return animate(
      canvas.current,
      (surface) => drawLevel(surface, level.peek()),
      isMoving ? 1 / 10 : undefined,
    );
  }, [level, isMoving]);
  return (
    <div class="level">
      <canvas ref={canvas} role="img" aria-label={t("listen.level")} />
    </div>
  );
}

function drawLevel(surface: Surface, { rms, peak }: Level): void {
  const { width, height, scale } = surface;
  const step = (BAR + GAP) * scale;
  const bars = Math.floor(width / step);
  const lit = place(rms) * bars;
  const top = Math.round(place(peak) * bars) - 1;
  const loud = (1 - LOUD / FLOOR) * bars;
  const kinds: Record<string, (readonly [number, number, number, number])[]> = {};
  for (let bar = 0; bar < bars; bar += 1) {
    const on = bar < lit || bar === top;
    const name = on ? (bar >= loud ? "--wrong" : "--live") : "--hairline";
    kinds[name] ??= [];
    kinds[name].push([bar * step, height * 0.25, BAR * scale, height * 0.5]);
  }
  for (const [name, shapes] of Object.entries(kinds)) fill(surface, colour(name), shapes);
}
