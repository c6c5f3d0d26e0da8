/** The vectors that Python and TypeScript share. */

import { readFileSync } from "node:fs";

/** Read one file of the vectors; the caller knows its shape. */
export function vectors<T>(name: string): T {
  const path = new URL(`../../../tests/vectors/${name}`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf-8")) as T;
}

/** Bytes from hex digits. */
export function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Hex digits of bytes. */
export function hex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
