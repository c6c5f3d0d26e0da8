import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Happening,
  IDLE,
  isRunning,
  next,
  type State,
  TABLES,
  type Task,
  words,
} from "../../src/console/phases.ts";
import { en } from "../../src/console/words.en.ts";

function after(task: Task, ...all: Happening[]): State {
  return all.reduce((state, happening) => next(task, state, happening), IDLE);
}

const HAPPENINGS: readonly Happening[] = [
  ...new Set(
    Object.values(TABLES).flatMap((table) =>
      Object.values(table).flatMap((row) => Object.keys(row) as Happening[]),
    ),
  ),
];

test("a sentence goes from thinking over speaking to done", () => {
  expect(after("speak", "start").phase).toBe("thinking");
  expect(after("speak", "start", "started", "sounding").phase).toBe("speaking");
  expect(after("speak", "start", "started", "sounding", "end").phase).toBe("done");
});

test("a text of which nothing can be said says so", () => {
  expect(after("speak", "start", "started", "nothing").phase).toBe("silent");
  expect(after("speak", "start", "started", "nothing", "start").phase).toBe("thinking");
  expect(words("speak", { phase: "silent" })).toBe("phase.silent");
});

test("listening opens the microphone, listens, thinks, and is done", () => {
  expect(after("listen", "start").phase).toBe("opening");
  expect(after("listen", "start", "opened").phase).toBe("listening");
  expect(after("listen", "start", "opened", "finishing").phase).toBe("thinking");
  expect(after("listen", "start", "opened", "finishing", "end").phase).toBe("done");
});

test("after a cut it goes on with what it was doing", () => {
  expect(after("speak", "start", "sounding", "cut").phase).toBe("cut");
  expect(after("speak", "start", "sounding", "cut", "resumed").phase).toBe("speaking");
  expect(after("speak", "start", "cut", "resumed").phase).toBe("thinking");
});

test("a trouble within a trouble still leads back", () => {
  const state = after("speak", "start", "sounding", "degraded", "cut", "recovering", "resumed");
  expect(state.phase).toBe("speaking");
});

test("the speaker may finish while the connection is gone", () => {
  const state = after("listen", "start", "opened", "cut", "finishing", "resumed");
  expect(state.phase).toBe("thinking");
});

test("a place in the queue is told and moves", () => {
  const queued = next("speak", after("speak", "start"), "queued", 3);
  expect(queued).toEqual({ phase: "queued", position: 3 });
  expect(words("speak", queued)).toBe("phase.queued.position");
  expect(next("speak", queued, "queued", 2).position).toBe(2);
  expect(next("speak", queued, "started").phase).toBe("thinking");
  expect(words("listen", { phase: "queued" })).toBe("phase.queued");
});

test("a cut while nothing runs changes nothing", () => {
  expect(after("speak", "cut")).toEqual(IDLE);
  expect(after("speak", "start", "sounding", "end", "cut").phase).toBe("done");
});

test("every state has words in both tasks", () => {
  for (const task of ["speak", "listen"] as const) {
    for (const phase of Object.keys(TABLES[task]) as State["phase"][]) {
      expect(en[words(task, { phase })]).toBeTruthy();
    }
  }
});

test("whatever happens, stop ends it", () => {
  fc.assert(
    fc.property(
      fc.constantFrom<Task>("speak", "listen"),
      fc.array(fc.constantFrom(...HAPPENINGS)),
      (task, all) => {
        const state = after(task, ...all);
        expect(isRunning(next(task, state, "stop").phase)).toBe(false);
      },
    ),
  );
});
