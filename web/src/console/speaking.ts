/** The Speak page at work: from the text to the loudspeaker. */

import { effect, signal } from "@preact/signals";
import type { Synthesis, SynthesisOptions } from "../core/api.ts";
import { Player, SoundError, type Standing } from "../core/sound/index.ts";
import { settings } from "./address.ts";
import { text } from "./catalog.ts";
import { next as nextTick } from "./clock.ts";
import { client, link } from "./connection.ts";
import { type Fault, faultFrom, faultOf } from "./fault.ts";
import * as measures from "./measures.ts";
import { type Happening, IDLE, isRunning, next, type State } from "./phases.ts";
import { Take } from "./take.ts";
import { type } from "./typing.ts";

export const state = signal<State>(IDLE);
export const fault = signal<Fault | undefined>(undefined);
export const take = signal<Take | undefined>(undefined);
/** Whether to say that there is nothing to speak. */
export const isEmpty = signal(false);
/** Seconds of the take that were heard, a few times a second. */
export const position = signal(0);

/** One stream, from the press of the key to its last sample. */
class Turn {
  take = new Take(0);
  stream: Synthesis | undefined;
  stopTyping: () => void = () => {};
  /** Everything was delivered, and everything was played. */
  delivered = false;
  played = false;
}

let current: Turn | undefined;
let pressed = 0;

const player = new Player({
  onStanding: follow,
  onAudible: ({ audible }) => {
    // The device's clock is an estimate; what is sure is that nothing sounds before it came.
    measures.audible.value = Math.max(audible - pressed, measures.firstAudio.value ?? 0);
  },
  onFinished: () => {
    if (!current) return;
    current.played = true;
    finish(current);
  },
  onSound: (sound) => {
    if (!current) return;
    if (sound === "running") fault.value = undefined;
    else if (sound !== "closed") fault.value = faultFrom(new SoundError("sound_suspended", sound));
  },
});

/** Seconds between two words to the server about how far the listener is. */
const TELL_EVERY = 0.2;
let told = 0;

function follow({ state: playout, buffered, stalls }: Standing): void {
  if (!current) return;
  const now = measures.now();
  if (playout === "playing") happen("sounding");
  if (now - told < TELL_EVERY) return;
  told = now;
  measures.histories.buffer.push(now, buffered);
  current.stream?.played(player.position, { underruns: stalls, buffered });
  if (!isDue) nextTick(SHOW_EVERY, show);
  isDue = true;
}

/** Seconds between two changes of the numbers on screen. */
const SHOW_EVERY = 0.1;
let isDue = false;

function show(): void {
  isDue = false;
  if (!current) return;
  const { stalls, buffered } = player.standing;
  measures.stalls.value = stalls;
  measures.buffered.value = buffered;
  position.value = playhead();
}

/** Seconds of the take that were heard. */
export function playhead(): number {
  return take.value ? player.position / take.value.rateHz : 0;
}

function happen(happening: Happening, position?: number): void {
  // Without subscribing: effects call this.
  state.value = next("speak", state.peek(), happening, position);
}

/** Speak what is in the box; call it inside the handler of the click or key. */
export async function speak(): Promise<void> {
  const words = text.value.trim();
  isEmpty.value = !words;
  if (!words) return;
  stop();
  pressed = measures.now();
  fault.value = undefined;
  happen("start");
  const turn = new Turn();
  current = turn;
  try {
    const opening = player.open();
    // The context is there from the call on; only what plays waits for its worklet.
    if (player.sampleRate) begin(turn, words, player.sampleRate);
    await opening;
  } catch (error) {
    fail(turn, faultFrom(error));
  }
}

/** Try again; while something is spoken this turns its sound on. */
export async function retry(): Promise<void> {
  if (!isRunning(state.value.phase)) return speak();
  await player.open().catch((error: unknown) => {
    fault.value = faultFrom(error);
  });
}

function fail(turn: Turn, why: Fault): void {
  if (current !== turn) return;
  drop();
  fault.value = why;
  happen("failed");
}

function begin(turn: Turn, words: string, sampleRate: number): void {
  player.begin();
  turn.take = new Take(sampleRate);
  take.value = turn.take;
  position.value = 0;
  measures.firstAudio.value = undefined;
  measures.audible.value = undefined;
  measures.stalls.value = 0;
  measures.beginComparison();
  const stream = client.synthesize({ ...options(sampleRate), ...handlers(turn) });
  turn.stream = stream;
  const { pace } = settings.value;
  if (pace > 0) {
    turn.stopTyping = type(
      words,
      pace,
      (piece) => stream.say(piece),
      () => stream.end(),
    );
  } else {
    stream.say(words);
    stream.end();
  }
}

function options(sampleRate: number): SynthesisOptions {
  const { engine, voice, spoken, speed, streaming } = settings.value;
  return {
    sampleRate,
    speed,
    streaming,
    ...(engine ? { engine } : {}),
    ...(voice ? { voice } : {}),
    ...(spoken ? { language: spoken } : {}),
  };
}

function handlers(turn: Turn): SynthesisOptions {
  const mine = () => current === turn;
  return {
    onStarted: () => mine() && happen("started"),
    onNotice: ({ kind, position }) => mine() && happen(kind, position),
    onAudio: ({ pcm, sample }) => mine() && hear(turn, pcm, sample),
    onUtteranceEnd: () => mine() && player.end(),
    onResumed: ({ missing }) => {
      measures.resumes.value += 1;
      if (missing) measures.countLost(missing);
      if (mine()) happen("resumed");
    },
    onEnd: (totals) => {
      if (!mine()) return;
      measures.endComparison(measures.downTotals(totals));
      turn.delivered = true;
      finish(turn);
    },
    onFailure: (failure) => fail(turn, faultOf(failure)),
  };
}

function hear(turn: Turn, pcm: Int16Array, sample: number): void {
  if (turn.take.seconds === 0) measures.firstAudio.value = measures.now() - pressed;
  player.push(pcm, sample);
  turn.take.add(pcm);
}

function finish(turn: Turn): void {
  if (!turn.delivered || !(turn.played || turn.take.seconds === 0)) return;
  current = undefined;
  measures.buffered.value = undefined;
  position.value = turn.take.seconds;
  happen(turn.take.seconds ? "end" : "nothing");
}

/** Fall silent now; what came so far can still be saved. */
export function stop(): void {
  if (!isRunning(state.value.phase)) return;
  drop();
  happen("stop");
}

function drop(): void {
  const turn = current;
  current = undefined;
  if (!turn) return;
  const heard = player.position;
  void player.stop();
  turn.stopTyping();
  if (!turn.delivered) {
    turn.stream?.cancel(heard);
    turn.stream?.stop();
  }
  measures.buffered.value = undefined;
  if (measures.comparison.value.state === "pending") measures.endComparison();
}

/** Let the page's state follow the connection. */
export function followLink(): void {
  effect(() => {
    if (link.value === "recovering") happen("cut");
  });
}
