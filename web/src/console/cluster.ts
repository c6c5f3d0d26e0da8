/** Gateways, workers and leases, asked for while they are looked at. */

import { signal } from "@preact/signals";
import type { Cluster, Node } from "../core/api.ts";
import { client } from "./connection.ts";
import { now } from "./measures.ts";
import { History } from "./samples.ts";
import { answered, type Refusal } from "./server.ts";

export type EngineLoad = Node["engines"][number];

export const cluster = signal<Cluster | undefined>(undefined);
export const refusal = signal<Refusal | undefined>(undefined);

/** Seconds between two questions. */
const ASK_EVERY = 2;
/** Seconds of memory and of depth that are kept. */
export const KEPT = 600;

/** Bytes of all processes together, and streams that wait. */
export const memory = new History(KEPT);
export const depth = new History(KEPT);

/** Processes by role; one that is both, such as `legato serve`, counts once. */
export function memoryOf({ gateways, workers }: Cluster): number | undefined {
  const all: readonly Node[] = [...gateways, ...workers];
  const processes = new Map(all.map((one) => [`${one.host}/${one.pid}`, one]));
  const sizes = [...processes.values()].flatMap(({ memory_bytes: size }) => size ?? []);
  return sizes.length ? sizes.reduce((sum, size) => sum + size, 0) : undefined;
}

/** Streams that no worker has taken yet. */
export function waitingIn({ waiting }: Cluster): number {
  return Object.values(waiting).reduce((sum, streams) => sum + streams, 0);
}

async function ask(): Promise<void> {
  if (document.hidden) return;
  const answer = await answered(() => client.cluster());
  refusal.value = "failure" in answer ? answer.failure : undefined;
  if ("failure" in answer) return;
  const told = answer.value;
  cluster.value = told;
  const size = memoryOf(told);
  if (size !== undefined) memory.push(now(), size);
  depth.push(now(), waitingIn(told));
}

/** Ask now and every 2 seconds while the page is visible; returns what ends it. */
export function watch(): () => void {
  void ask();
  const timer = setInterval(() => void ask(), ASK_EVERY * 1000);
  return () => clearInterval(timer);
}
