/** A canvas in device pixels, and a clock that draws on it. */

import { every as ticking } from "./clock.ts";
import { shade } from "./theme.ts";

/** What a drawing works with; sizes in device pixels. */
export interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  /** Device pixels of one CSS pixel where text has its smallest size; more on a large screen. */
  readonly scale: number;
}

/** CSS pixels of text on a small screen. */
const TEXT = 15;
/** Seconds between two pictures for who asks for reduced motion. */
const CALM = 0.5;

/** Fit `canvas` to its box. */
export function surface(canvas: HTMLCanvasElement): Surface | undefined {
  const context = canvas.getContext("2d");
  if (!context) return undefined;
  const width = Math.round(canvas.clientWidth * devicePixelRatio);
  const height = Math.round(canvas.clientHeight * devicePixelRatio);
  const text = Number.parseFloat(getComputedStyle(canvas).fontSize);
  const scale = (devicePixelRatio * text) / TEXT;
  canvas.width = width;
  canvas.height = height;
  return { context, width, height, scale };
}

/** Fill rectangles in one colour: setting it costs more than filling. */
export function fill(
  { context }: Surface,
  style: string,
  rectangles: Iterable<readonly [x: number, y: number, width: number, height: number]>,
): void {
  context.fillStyle = style;
  for (const [x, y, width, height] of rectangles) context.fillRect(x, y, width, height);
}

/**
 * Draw now, on every change of size and theme, and every `every` seconds if it is moving. By the
 * page's clock, as each animation frame asked for costs the page a picture of its own.
 *
 * @returns What ends it.
 */
export function animate(
  canvas: HTMLCanvasElement,
  draw: (surface: Surface) => void,
  every: number | undefined,
): () => void {
  let place: Surface | undefined;
  const paint = () => {
    if (!place || document.hidden) return;
    place.context.clearRect(0, 0, place.width, place.height);
    draw(place);
  };
  // Asking for the size of a box costs a layout: only where it changed.
  const sizes = new ResizeObserver(() => {
    place = surface(canvas);
    paint();
  });
  sizes.observe(canvas);
  const stopThemes = shade.subscribe(() => queueMicrotask(paint));
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const still = every && ticking(calm ? Math.max(CALM, every) : every, paint);
  document.addEventListener("visibilitychange", paint);
  return () => {
    if (still) still();
    sizes.disconnect();
    stopThemes();
    document.removeEventListener("visibilitychange", paint);
  };
}
