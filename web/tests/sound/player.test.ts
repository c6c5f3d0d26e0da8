import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Player, type PlayerOptions } from "../../src/core/sound/player.ts";
import type { Standing } from "../../src/core/sound/ports.ts";
import { context, FakeContext, plugIn, QUANTUM, RATE, settle } from "./device.ts";

const EXACT = { depth: 0, effects: false, tap: true };

function ramp(from: number, samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, at) => from + at + 1_000);
}

function sha256(pcm: Int16Array): string {
  return createHash("sha256").update(new Uint8Array(pcm.buffer)).digest("hex");
}

async function opened(options: PlayerOptions = {}): Promise<Player> {
  const player = new Player(options);
  await player.open();
  return player;
}

/** What a promise of the player gives once the worklet has rendered. */
async function answered<T>(promise: Promise<T>, quanta = 1): Promise<T> {
  await settle();
  await context().render(quanta);
  return promise;
}

beforeEach(async () => {
  vi.useFakeTimers();
  await plugIn();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("opening", () => {
  it("makes one context, whose rate is known at once", async () => {
    const player = new Player();
    const opening = player.open();
    expect(player.sampleRate).toBe(RATE);
    await opening;
    await player.open();
    expect(FakeContext.all).toHaveLength(1);
    expect(context().nodes).toHaveLength(1);
    expect(player.sound).toBe("running");
  });

  it("tells when there was no click, and succeeds with the next one", async () => {
    FakeContext.runs = false;
    const player = new Player();
    const opening = player.open();
    const refused = expect(opening).rejects.toMatchObject({ code: "sound_suspended" });
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    FakeContext.runs = true;
    await player.open();
    expect(context().nodes).toHaveLength(1);
  });

  it("tells that the worklet did not load, and tries again", async () => {
    FakeContext.loads = false;
    const player = new Player();
    await expect(player.open()).rejects.toMatchObject({ code: "not_loaded" });
    FakeContext.loads = true;
    await player.open();
    expect(context().nodes).toHaveLength(1);
  });

  it("is refused by an insecure page", async () => {
    vi.stubGlobal("AudioWorklet", undefined);
    vi.stubGlobal("isSecureContext", false);
    await expect(new Player().open()).rejects.toMatchObject({ code: "insecure_origin" });
  });

  it("tells an interruption", async () => {
    const onSound = vi.fn();
    const player = await opened({ onSound });
    context().become("interrupted");
    expect(onSound).toHaveBeenLastCalledWith("interrupted");
    expect(player.sound).toBe("interrupted");
    await player.open();
    expect(onSound).toHaveBeenLastCalledWith("running");
  });
});

describe("playing", () => {
  it("renders bit for bit what was pushed, and says so", async () => {
    const onFinished = vi.fn();
    const player = await opened({ onFinished });
    const pcm = ramp(0, 1_000);
    player.begin(EXACT);
    player.push(pcm.subarray(0, 300), 0);
    player.push(pcm.subarray(300), 300);
    player.end();
    await settle();
    const out = await context().render(9);
    expect(out).toEqual([...pcm, ...new Array(9 * QUANTUM - 1_000).fill(0)]);
    expect(await answered(player.digest())).toEqual({ sha256: sha256(pcm), samples: 1_000 });
    expect(onFinished).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ playedUpto: 1_000 }),
    );
    expect(player.standing).toMatchObject({ state: "filling", playedUpto: 1_000, stalls: 0 });
  });

  it("leaves what was pushed to its owner", async () => {
    const player = await opened();
    const pcm = ramp(0, 10);
    player.begin();
    player.push(pcm, 0);
    expect(pcm).toEqual(ramp(0, 10));
  });

  it("keeps what was pushed before the worklet was loaded", async () => {
    const player = new Player();
    const opening = player.open();
    player.begin(EXACT);
    player.push(ramp(0, QUANTUM), 0);
    await opening;
    await settle();
    expect(await context().render(1)).toEqual([...ramp(0, QUANTUM)]);
  });

  it("tells once when it is heard, by the clock of the page", async () => {
    const onAudible = vi.fn();
    const player = await opened({ onAudible });
    await context().render(3);
    const pcm = new Int16Array(400).fill(1);
    pcm.fill(5_000, 200);
    player.begin(EXACT);
    player.push(pcm, 0);
    await settle();
    await context().render(4);
    expect(onAudible).toHaveBeenCalledOnce();
    const { played, audible } = onAudible.mock.calls[0]?.[0] ?? {};
    expect(audible - played).toBeCloseTo(200 / RATE);
    const ago = (2 * QUANTUM) / RATE;
    expect(played).toBeCloseTo(performance.now() / 1_000 + 0.01 - ago, 3);
  });

  it("tells how it stands when that changes", async () => {
    const states: Standing["state"][] = [];
    const player = await opened({ onStanding: ({ state }) => states.push(state) });
    player.begin(EXACT);
    player.push(ramp(0, 200), 0);
    await settle();
    await context().render(4);
    player.push(ramp(200, 200), 200);
    player.end();
    await settle();
    await context().render(4);
    expect([...new Set(states)]).toEqual(["playing", "stalled", "filling"]);
    expect(player.stalls).toBe(1);
    expect(player.buffered).toBe(0);
  });

  it("knows between two standings what is heard", async () => {
    const player = await opened();
    player.begin(EXACT);
    player.push(ramp(0, 4_000), 0);
    await settle();
    await context().render(8);
    const { position } = player;
    expect(position).toBeGreaterThan(0);
    vi.advanceTimersByTime(5);
    context().frame += 40;
    expect(player.position).toBeGreaterThanOrEqual(position);
    expect(player.position).toBeLessThanOrEqual(8 * QUANTUM);
  });
});

describe("stopping", () => {
  it("is silence from the next quantum on, with its instant", async () => {
    const player = await opened();
    player.begin(EXACT);
    player.push(ramp(0, 8_000), 0);
    await settle();
    await context().render(2);
    const stopping = player.stop();
    await settle();
    expect(await context().render(2)).toEqual(new Array(2 * QUANTUM).fill(0));
    expect(await stopping).toBeCloseTo(performance.now() / 1_000 + 0.01 - 0.016, 1);
    expect(player.standing).toMatchObject({ playedUpto: 2 * QUANTUM, buffered: 0 });
  });

  it("keeps out what still comes of it, and lets the next utterance play", async () => {
    const player = await opened();
    player.begin(EXACT);
    player.push(ramp(0, 500), 0);
    await answered(player.stop(600));
    player.push(ramp(500, 100), 500);
    player.push(ramp(600, QUANTUM), 600);
    await settle();
    expect(await context().render(1)).toEqual([...ramp(600, QUANTUM)]);
  });

  it("before the worklet was loaded forgets what was pushed", async () => {
    const player = new Player();
    const opening = player.open();
    player.begin(EXACT);
    player.push(ramp(0, QUANTUM), 0);
    await player.stop();
    await opening;
    await settle();
    expect(await context().render(1)).toEqual(new Array(QUANTUM).fill(0));
  });

  it("does not wait for a device that is gone", async () => {
    const player = await opened();
    player.begin(EXACT);
    const stopping = player.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await stopping).toBeCloseTo(performance.now() / 1_000);
  });
});

describe("the next stream", () => {
  it("begins at 0 and has its own hash; the fade of the one before sounds out", async () => {
    const player = await opened();
    player.begin({ depth: 0 });
    player.push(new Int16Array(4_000).fill(8_000), 0);
    await settle();
    await context().render(1);
    const stopping = player.stop();
    player.begin(EXACT);
    expect(player.position).toBe(0);
    await settle();
    const fade = await context().render(2);
    expect(fade[0]).toBe(Math.round((8_000 * (QUANTUM - 1)) / QUANTUM));
    expect(fade.slice(QUANTUM - 1)).toEqual(new Array(QUANTUM + 1).fill(0));
    await stopping;
    player.push(ramp(0, 64), 0);
    player.end();
    await settle();
    await context().render(1);
    expect(await answered(player.digest())).toEqual({ sha256: sha256(ramp(0, 64)), samples: 64 });
  });

  it("gains from what the one before has shown of the network", async () => {
    const player = await opened({ start: { lead: true } });
    player.begin();
    player.push(ramp(0, 160), 0);
    vi.advanceTimersByTime(900);
    player.push(ramp(160, 160), 160);
    player.end();
    await settle();
    await context().render(4);
    player.begin();
    player.push(ramp(0, 160), 0);
    await settle();
    await context().render(7);
    expect(player.standing).toMatchObject({ state: "filling", playedUpto: 0 });
    expect(player.standing.depth).toBeGreaterThan(0.3);
  });
});

it("gives the device back", async () => {
  const onSound = vi.fn();
  const player = await opened({ onSound });
  const [node] = context().nodes;
  await player.close();
  await settle();
  expect(player.sound).toBe("closed");
  expect(onSound).toHaveBeenLastCalledWith("closed");
  expect(node?.isConnected).toBe(false);
  expect(node?.processor.process([], [[new Float32Array(QUANTUM)]])).toBe(false);
  await player.close();
});
