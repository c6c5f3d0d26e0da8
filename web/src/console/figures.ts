/** Numbers as they stand on screen: at most three significant digits, the unit beside. */

export interface Figure {
  readonly number: string;
  readonly unit: string;
}

const BYTES = ["B", "kB", "MB", "GB"] as const;
const COUNTS = ["", "k", "M", "G"] as const;

/** `value` with at most three significant digits, without an exponent. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 99.95) return String(Math.round(value));
  if (size >= 9.995) return trimmed(value.toFixed(1));
  return trimmed(value.toFixed(2));
}

function trimmed(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

/** Seconds as ms, s, min or h. */
export function duration(seconds: number): Figure {
  const size = Math.abs(seconds);
  if (size < 0.9995) return { number: significant(seconds * 1000), unit: "ms" };
  if (size < 99.95) return { number: significant(seconds), unit: "s" };
  if (size < 5997) return { number: significant(seconds / 60), unit: "min" };
  return { number: significant(seconds / 3600), unit: "h" };
}

/** Seconds in seconds, for a buffer or a position: the unit does not jump about. */
export function length(seconds: number): Figure {
  return { number: seconds.toFixed(1), unit: "s" };
}

/** Bytes by powers of 1000. */
export function bytes(size: number): Figure {
  return scaled(size, BYTES);
}

/** A number of things. */
export function count(things: number): Figure {
  return scaled(things, COUNTS);
}

function scaled(value: number, units: readonly string[]): Figure {
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= 999.5 && step < units.length - 1) {
    rest /= 1000;
    step += 1;
  }
  return { number: significant(rest), unit: units[step] ?? "" };
}

/** Seconds as `1:23.4`, for where a segment begins. */
export function clock(seconds: number): string {
  const tenths = Math.round(Math.max(0, seconds) * 10);
  const minutes = Math.floor(tenths / 600);
  const rest = ((tenths % 600) / 10).toFixed(1);
  return `${minutes}:${rest.padStart(4, "0")}`;
}

/** A figure as running text. */
export function spoken(figure: Figure): string {
  return figure.unit ? `${figure.number} ${figure.unit}` : figure.number;
}
