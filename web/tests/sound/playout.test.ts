import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AUDIBLE,
  CLEAR_FADE,
  FADE,
  Playout,
  type PlayoutOptions,
  type PlayoutState,
  TRANSITIONS,
} from "../../src/core/sound/playout.ts";
import { AdaptiveStart } from "../../src/core/sound/start.ts";

const RATE = 8_000;
const QUANTUM = 128;

function playout(options: Partial<PlayoutOptions> = {}): Playout {
  return new Playout({ sampleRate: RATE, depth: 0, effects: false, ...options });
}

/** Samples whose values tell their positions. */
function ramp(from: number, samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, index) => ((from + index) % 30_000) + 1);
}

function render(machine: Playout, samples = QUANTUM): { played: number[]; out: number[] } {
  const out = new Float32Array(samples).fill(9);
  const count = machine.render(out);
  const values = Array.from(out, (value) => value * 32_768);
  return { played: values.slice(0, count), out: values };
}

function loud(samples: number): Int16Array {
  return new Int16Array(samples).fill(16_384);
}

describe("the start", () => {
  it("waits for the depth", () => {
    const machine = playout({ depth: 0.04 });
    machine.push(ramp(0, 160), 0, 0);
    expect(render(machine).out).toEqual(new Array(QUANTUM).fill(0));
    expect(machine.state).toBe("filling");
    machine.push(ramp(160, 160), 160, 0.02);
    expect(machine.buffered).toBe(0.04);
    expect(render(machine).played).toEqual([...ramp(0, QUANTUM)]);
    expect(machine.playedUpto).toBe(QUANTUM);
  });

  it("does not wait for more than there is to come", () => {
    const machine = playout({ depth: 10 });
    machine.push(ramp(0, 100), 0, 0);
    machine.end();
    expect(render(machine).played).toEqual([...ramp(0, 100)]);
    expect(machine.isFinished).toBe(true);
    expect(machine.stalls).toBe(0);
  });

  it("adapts to what utterances needed", () => {
    const start = new AdaptiveStart({ lead: true });
    const machine = playout({ depth: start });
    const before = machine.depth;
    machine.push(ramp(0, 160), 0, 0);
    machine.push(ramp(160, 160), 160, 1.02);
    machine.end();
    machine.end();
    const once = new AdaptiveStart({ lead: true });
    once.learn(1);
    expect(start.depth()).toBeCloseTo(once.depth(), 12);
    expect(start.depth()).toBeGreaterThan(before);
  });

  it("holds back for a slow link", () => {
    const machine = playout({ depth: new AdaptiveStart({ lead: true }) });
    machine.push(ramp(0, 800), 0, 0);
    machine.push(ramp(800, 80), 800, 0.5);
    expect(machine.depth).toBeCloseTo(0.06 + (0.97 - 0.2) * 3);
    render(machine);
    expect(machine.state).toBe("filling");
  });

  it("learns nothing from what was cleared", () => {
    const start = new AdaptiveStart({ lead: true });
    const machine = playout({ depth: start });
    machine.push(ramp(0, 160), 0, 0);
    machine.push(ramp(160, 160), 160, 9);
    machine.clear();
    machine.end();
    expect(start.depth()).toBe(new AdaptiveStart({ lead: true }).depth());
  });

  it.each([-1, 11, Number.NaN])("refuses a depth of %d s with room for 10", (depth) => {
    expect(() => playout({ depth, limit: 10 })).toThrow(RangeError);
  });
});

describe("a stall", () => {
  it("counts, with its length, when the sound is back", () => {
    const machine = playout({ depth: 0.01 });
    machine.push(ramp(0, 100), 0, 0);
    expect(render(machine).played).toHaveLength(100);
    expect(machine.state).toBe("stalled");
    expect(machine.stalls).toBe(0);
    render(machine);
    machine.push(ramp(100, 79), 100, 1);
    render(machine);
    expect(machine.state).toBe("stalled");
    machine.push(ramp(179, 1), 179, 1);
    render(machine);
    expect(machine.stalls).toBe(1);
    expect(machine.stalled).toBeCloseTo((28 + 2 * QUANTUM) / RATE);
  });

  it("is none if it was the end", () => {
    const machine = playout();
    machine.push(ramp(0, 100), 0, 0);
    render(machine);
    machine.end();
    render(machine);
    expect(machine.state).toBe("filling");
    expect(machine.isFinished).toBe(true);
    machine.push(ramp(100, 100), 100, 1);
    render(machine);
    expect(machine.stalls).toBe(0);
  });

  it("is none between utterances, each of which waits for its own depth", () => {
    const machine = playout({ depth: 0.05 });
    machine.push(ramp(0, 64), 0, 0);
    machine.end();
    machine.push(ramp(64, 64), 64, 0);
    expect(render(machine).played).toEqual([...ramp(0, 64)]);
    expect(machine.state).toBe("filling");
    machine.push(ramp(128, 400), 128, 0.1);
    expect(render(machine).played).toEqual([...ramp(64, QUANTUM)]);
    expect(machine.stalls).toBe(0);
  });
});

describe("fades", () => {
  const fade = Math.round(FADE * RATE);

  it("lead from the last value to silence in 5 ms, and back", () => {
    const machine = playout({ effects: true });
    machine.push(loud(64), 0, 0);
    const { out } = render(machine);
    expect(out.slice(0, 64)).toEqual([...loud(64)]);
    const tail = out.slice(64);
    expect(tail[0]).toBeCloseTo((16_384 * (fade - 1)) / fade, 1);
    expect(tail.slice(0, fade + 1)).toEqual(tail.slice(0, fade + 1).sort((a, b) => b - a));
    expect(tail.slice(fade - 1)).toEqual(new Array(64 - fade + 1).fill(0));
    machine.push(loud(200), 64, 1);
    const back = render(machine).out;
    expect(back[0]).toBeCloseTo(16_384 / fade, 1);
    expect(back.slice(0, fade)).toEqual(back.slice(0, fade).sort((a, b) => a - b));
    expect(back.slice(fade - 1)).toEqual([...loud(QUANTUM - fade + 1)]);
  });

  it("after a clear end within a quantum", () => {
    const machine = playout({ effects: true });
    machine.push(loud(4_000), 0, 0);
    render(machine);
    machine.clear();
    expect(machine.isFading).toBe(true);
    const { played, out } = render(machine);
    expect(played).toEqual([]);
    expect(out[0]).toBeCloseTo((16_384 * (CLEAR_FADE - 1)) / CLEAR_FADE, 1);
    expect(out.at(-1)).toBe(0);
    expect(machine.isFading).toBe(false);
    expect(render(machine).out).toEqual(new Array(QUANTUM).fill(0));
  });

  it("are shortened by a clear", () => {
    const machine = playout({ effects: true, sampleRate: 96_000 });
    machine.push(loud(120), 0, 0);
    render(machine);
    machine.clear();
    expect(render(machine).out.at(-1)).toBe(0);
    expect(machine.isFading).toBe(false);
  });

  it("do not touch an utterance that plays through", () => {
    const machine = playout({ effects: true });
    machine.push(ramp(0, 300), 0, 0);
    machine.end();
    expect(render(machine, 300).played).toEqual([...ramp(0, 300)]);
  });
});

describe("a clear", () => {
  it("is silence in the next quantum without effects", () => {
    const machine = playout();
    machine.push(loud(4_000), 0, 0);
    render(machine);
    machine.clear();
    expect(render(machine).out).toEqual(new Array(QUANTUM).fill(0));
    expect(machine).toMatchObject({ buffered: 0, state: "filling", isFinished: true });
    expect(machine.playedUpto).toBe(QUANTUM);
  });

  it("keeps out what was pushed, and what is still to come before a position", () => {
    const machine = playout();
    machine.push(ramp(0, 100), 0, 0);
    machine.clear(150);
    expect(machine.push(ramp(0, 120), 0, 0)).toBe(false);
    expect(machine.push(ramp(120, 60), 120, 0)).toBe(true);
    expect(render(machine).played).toEqual([...ramp(150, 30)]);
    expect(machine.late).toBe(150);
  });
});

describe("what it tells", () => {
  it("is when the first sample played and when the first one was heard", () => {
    const machine = playout();
    render(machine);
    const pcm = new Int16Array(200);
    pcm.fill(AUDIBLE - 1, 0, 150);
    pcm[150] = -AUDIBLE;
    machine.push(pcm, 0, 0);
    render(machine);
    expect(machine).toMatchObject({ playedAt: QUANTUM, audibleAt: null });
    render(machine);
    expect(machine).toMatchObject({ playedAt: QUANTUM, audibleAt: QUANTUM + 150 });
  });

  it("is what found no room", () => {
    const machine = playout({ limit: 0.1 });
    expect(machine.push(ramp(0, 800), 0, 0)).toBe(true);
    expect(machine.push(ramp(800, 1), 800, 0)).toBe(false);
    expect(machine.dropped).toBe(1);
  });
});

it("knows every transition", () => {
  const states: PlayoutState[] = ["filling", "playing", "stalled"];
  expect(Object.keys(TRANSITIONS)).toEqual(states);
  for (const state of states) {
    expect(Object.keys(TRANSITIONS[state]).sort()).toEqual(["dry", "enough", "over", "some"]);
  }
});

type Step =
  | { kind: "push"; back: number; skip: number; samples: number }
  | { kind: "render"; samples: number }
  | { kind: "end" }
  | { kind: "clear"; ahead: number };

const STEPS = fc.array(
  fc.oneof(
    fc.record<Step & { kind: "push" }>({
      kind: fc.constant("push"),
      back: fc.integer({ min: 0, max: 200 }),
      skip: fc.constantFrom(0, 0, 0, 50),
      samples: fc.integer({ min: 0, max: 500 }),
    }),
    fc.record<Step & { kind: "render" }>({
      kind: fc.constant("render"),
      samples: fc.constantFrom(1, 100, QUANTUM, 300),
    }),
    fc.constant<Step>({ kind: "end" }),
    fc.record<Step & { kind: "clear" }>({
      kind: fc.constant("clear"),
      ahead: fc.integer({ min: 0, max: 100 }),
    }),
  ),
  { maxLength: 60 },
);

const DEPTHS = fc.constantFrom<number | null>(0, 0.01, 0.2, null);

/** Run steps; positions that were played, those forbidden by a clear, and all that came out. */
function run(machine: Playout, steps: readonly Step[]) {
  const played: number[] = [];
  const pushed = new Set<number>();
  let upto = 0;
  let floor = 0;
  let now = 0;
  for (const step of steps) {
    now += 0.01;
    if (step.kind === "push") {
      const sample = Math.max(0, upto - step.back) + step.skip;
      const fresh = sample + step.samples > upto;
      if (machine.push(ramp(sample, step.samples), sample, now)) {
        for (let at = Math.max(sample, upto); at < sample + step.samples; at += 1) pushed.add(at);
      } else expect(fresh && step.samples > 0).toBe(false);
      if (fresh && step.samples > 0) upto = sample + step.samples;
    } else if (step.kind === "render") {
      const before = played.length;
      for (const value of render(machine, step.samples).played) played.push(Math.round(value) - 1);
      for (const at of played.slice(before)) expect(at).toBeGreaterThanOrEqual(floor);
    } else if (step.kind === "end") machine.end();
    else {
      upto = Math.max(upto, upto + step.ahead);
      floor = upto;
      machine.clear(upto);
    }
  }
  return { played, pushed };
}

function machineFor(depth: number | null, effects: boolean): Playout {
  return playout({ depth: depth ?? new AdaptiveStart({ lead: true }), effects });
}

describe("whatever happens", () => {
  it("each sample is played at most once, in order, as it was pushed", () => {
    fc.assert(
      fc.property(STEPS, DEPTHS, (steps, depth) => {
        const { played, pushed } = run(machineFor(depth, false), steps);
        for (const at of played) expect(pushed.has(at)).toBe(true);
        for (let index = 1; index < played.length; index += 1) {
          expect(played[index]).toBeGreaterThan(played[index - 1] ?? 0);
        }
      }),
    );
  });

  it("all that was pushed is played after the end, unless it was cleared", () => {
    const steps = STEPS.map((all) => all.filter(({ kind }) => kind !== "clear"));
    fc.assert(
      fc.property(steps, DEPTHS, (all, depth) => {
        const rest: Step[] = [{ kind: "end" }, { kind: "render", samples: 30_000 }];
        const machine = machineFor(depth, false);
        const { played, pushed } = run(machine, [...all, ...rest]);
        expect(played).toEqual([...pushed]);
        expect(machine).toMatchObject({ buffered: 0, isFinished: true });
      }),
    );
  });

  it("effects change how it sounds, never what is played when", () => {
    fc.assert(
      fc.property(STEPS, DEPTHS, (steps, depth) => {
        const [plain, faded] = [machineFor(depth, false), machineFor(depth, true)];
        let upto = 0;
        for (const step of steps) {
          for (const machine of [plain, faded]) {
            if (step.kind === "push") machine.push(ramp(upto, step.samples), upto, 0);
            else if (step.kind === "end") machine.end();
            else if (step.kind === "clear") machine.clear();
          }
          if (step.kind === "push") upto += step.samples;
          if (step.kind === "render") {
            const [one, other] = [render(plain, step.samples), render(faded, step.samples)];
            expect(other.played).toHaveLength(one.played.length);
            expect(Math.max(...other.out.map(Math.abs))).toBeLessThanOrEqual(32_768);
          }
          const { state, playedUpto, stalls, stalled } = plain;
          expect(faded).toMatchObject({ state, playedUpto, stalls, stalled });
        }
      }),
    );
  });
});
