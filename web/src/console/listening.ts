/** The Listen page at work: from the microphone or a file to text. */

import { computed, effect, signal } from "@preact/signals";
import type { Failure, Recognition, RecognitionOptions } from "../core/api.ts";
import type { Transcript } from "../core/messages.ts";
import { type HeardFrame, type Level, metered, SILENCE } from "../core/sound/index.ts";
import { settings } from "./address.ts";
import { client, link } from "./connection.ts";
import { type Fault, faultFrom, faultOf } from "./fault.ts";
import { type Hearing, hear as open, SampleError } from "./hearing.ts";
import * as measures from "./measures.ts";
import { Moments } from "./moments.ts";
import { type Happening, IDLE, isRunning, next, type State } from "./phases.ts";
import { Take } from "./take.ts";
import { type Heard, hear, NOTHING } from "./transcript.ts";

export const state = signal<State>(IDLE);
export const fault = signal<Fault | undefined>(undefined);
export const heard = signal<Heard>(NOTHING);
/** A new object only when one more is final, however often the partial changes. */
export const finals = computed(() => heard.value.finals);
export const partial = computed(() => heard.value.partial);
export const level = signal<Level>(SILENCE);
export const take = signal<Take | undefined>(undefined);
export const file = signal<File | undefined>(undefined);
export const deviceId = signal<string | undefined>(undefined);

/** One stream, from the press of the button to its last word. */
class Turn {
  hearing: Hearing | undefined;
  recognition: Recognition | undefined;
  readonly moments = new Moments();
  rateHz = 0;
  /** Whether no more audio is to come. */
  finishing = false;
  /** Seconds of the turns before, so that times go on. */
  readonly offset: number;

  constructor(offset: number) {
    this.offset = offset;
  }
}

let current: Turn | undefined;
let listened = 0;

function happen(happening: Happening, position?: number): void {
  // Without subscribing: effects call this.
  state.value = next("listen", state.peek(), happening, position);
}

/** Listen; call it inside the handler of the click or key. */
export async function listen(): Promise<void> {
  if (isRunning(state.value.phase)) return;
  const turn = new Turn(listened);
  current = turn;
  fault.value = undefined;
  take.value = undefined;
  happen("start");
  try {
    const hearing = await open(settings.value.source, file.value, deviceId.value, {
      onFrame: (frame, rateHz, live) => hearFrame(turn, frame, rateHz, live),
      onEnd: () => void finish(),
      onFailure: (error) => fail(turn, faultFrom(error)),
    });
    turn.hearing = hearing;
    if (current !== turn) await hearing.stop();
    else if (turn.finishing) await close(turn);
  } catch (error) {
    fail(turn, error instanceof SampleError ? sampleFault(error) : faultFrom(error));
  }
}

function sampleFault({ message }: SampleError): Fault {
  return { key: "sound.no_sample", values: { message }, code: "no_sample" };
}

function hearFrame(turn: Turn, frame: HeardFrame, rateHz: number, live: boolean): void {
  if (current !== turn) return;
  try {
    turn.recognition ??= begin(turn, rateHz);
    turn.recognition.send(frame.pcm);
  } catch (error) {
    fail(turn, faultFrom(error));
    return;
  }
  if (live) turn.moments.note(frame.sample + frame.pcm.length, frame.now);
  level.value = metered(level.peek(), frame.level, frame.pcm.length / rateHz);
  take.value?.peaks.add(frame.pcm);
  listened += frame.pcm.length / rateHz;
}

function begin(turn: Turn, rateHz: number): Recognition {
  turn.rateHz = rateHz;
  take.value = new Take(rateHz);
  measures.partialLatency.value = undefined;
  measures.finalLatency.value = undefined;
  measures.beginComparison();
  happen("opened");
  const { recognizer, heard: language, frameMs } = settings.value;
  return client.recognize({
    sampleRate: rateHz,
    frameMs,
    ...(recognizer ? { engine: recognizer } : {}),
    ...(language ? { language } : {}),
    ...handlers(turn),
  });
}

function handlers(turn: Turn): RecognitionOptions {
  const mine = () => current === turn;
  return {
    onStarted: () => mine() && happen("started"),
    onNotice: ({ kind, position }) => mine() && happen(kind, position),
    onResumed: ({ missing }) => {
      measures.resumes.value += 1;
      if (missing) measures.countLost(missing);
      if (mine()) happen("resumed");
    },
    onTranscript: (transcript) => mine() && understand(turn, transcript),
    onEnd: (totals) => {
      if (!mine()) return;
      current = undefined;
      measures.endComparison(measures.upTotals(totals));
      happen("end");
    },
    onFailure: (failure: Failure) => fail(turn, faultOf(failure)),
  };
}

function understand(turn: Turn, transcript: Transcript): void {
  const { kind, text, start, end, words, confidence } = transcript;
  heard.value = hear(
    heard.value,
    { kind, text, start, end, words, ...(confidence == null ? {} : { confidence }) },
    turn.rateHz,
    turn.offset,
  );
  const moment = turn.moments.at(end);
  if (moment !== undefined && text) measures.noteLatency(kind, measures.now() - moment);
}

/** Hear no more, and wait for the rest of the text. */
export async function finish(): Promise<void> {
  const turn = current;
  if (!turn || turn.finishing) return;
  turn.finishing = true;
  happen("finishing");
  if (turn.hearing) await close(turn);
}

async function close(turn: Turn): Promise<void> {
  await turn.hearing?.stop();
  if (current !== turn) return;
  level.value = SILENCE;
  if (turn.recognition) {
    turn.recognition.finalize();
    turn.recognition.end();
  } else {
    current = undefined;
    happen("stop");
  }
}

/** End now; what is final stays. */
export function stop(): void {
  const turn = current;
  if (!turn) return;
  drop(turn);
  happen("stop");
}

function fail(turn: Turn, why: Fault): void {
  if (current !== turn) return;
  drop(turn);
  if (why.code === "bad_audio" && turn.recognition) measures.failComparison();
  fault.value = why;
  happen("failed");
}

function drop(turn: Turn): void {
  current = undefined;
  level.value = SILENCE;
  const { partial: _, ...finals } = heard.value;
  heard.value = finals;
  if (measures.comparison.value.state === "pending") measures.endComparison();
  turn.recognition?.stop();
  void turn.hearing?.stop();
}

/** Forget what was heard. */
export function clear(): void {
  heard.value = { ...NOTHING, next: heard.value.next };
  if (!current) listened = 0;
}

/** Let the page's state follow the connection. */
export function followLink(): void {
  effect(() => {
    if (link.value === "recovering") happen("cut");
  });
}
