import { expect, test, vi } from "vitest";
import type { Cluster, Node } from "../../src/core/api.ts";

// The module opens the page's client when it is loaded.
vi.stubGlobal("location", { href: "http://127.0.0.1:1/", hash: "" });
vi.stubGlobal("document", { baseURI: "http://127.0.0.1:1/" });
const { memoryOf, waitingIn } = await import("../../src/console/cluster.ts");

function process(pid: number, memory: number | null): Node {
  const told = { host: "box", pid, memory_bytes: memory };
  return told as unknown as Node;
}

function cluster(gateways: readonly Node[], workers: readonly Node[]): Cluster {
  return {
    gateways,
    workers,
    leases: [],
    held: 0,
    waiting: { hibari: 2, moonshine: 1 },
    streams: 0,
  };
}

test("a process that is gateway and worker counts once", () => {
  const both = process(1, 100);
  expect(memoryOf(cluster([both], [both, process(2, 50)]))).toBe(150);
});

test("a system that does not tell has no memory rather than none in use", () => {
  expect(memoryOf(cluster([process(1, null)], []))).toBeUndefined();
});

test("what waits is added up over the engines", () => {
  expect(waitingIn(cluster([], []))).toBe(3);
});
