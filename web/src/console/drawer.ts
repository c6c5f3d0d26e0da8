/** Which part of the drawer is open; the page remembers it. */

import { effect, signal } from "@preact/signals";
import { store } from "./memory.ts";

export type Part = "events" | "code";

function isPart(value: unknown): value is Part {
  return value === "events" || value === "code";
}

/** Undefined while it is closed. */
export const open = signal<Part | undefined>(undefined);

export function toggle(part: Part): void {
  open.value = open.value === part ? undefined : part;
}

export function startDrawer(): void {
  const stored = store.read("drawer");
  if (isPart(stored)) open.value = stored;
  effect(() => store.write("drawer", open.value ?? "closed"));
}
