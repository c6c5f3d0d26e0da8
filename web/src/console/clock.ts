/** One clock for all that moves: what changes at the same moment costs the page one picture. */

/** Pictures a second: a playhead moves smoothly, and each picture costs as much as 20 ms of audio. */
const PICTURES = 20;

interface Task {
  /** In ticks. */
  readonly every: number;
  readonly run: () => void;
}

const tasks = new Set<Task>();
let timer: ReturnType<typeof setInterval> | undefined;
let ticks = 0;

function tick(): void {
  ticks += 1;
  for (const { every, run } of tasks) if (ticks % every === 0) run();
}

/** Call `run` every so many seconds, to the next twentieth; returns what ends it. */
export function every(seconds: number, run: () => void): () => void {
  const task: Task = { every: Math.max(1, Math.round(seconds * PICTURES)), run };
  tasks.add(task);
  timer ??= setInterval(tick, 1000 / PICTURES);
  return () => {
    tasks.delete(task);
    if (tasks.size) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Call `run` once, when a clock that ticks every so many seconds ticks next. */
export function next(seconds: number, run: () => void): () => void {
  const stop = every(seconds, () => {
    stop();
    run();
  });
  return stop;
}
