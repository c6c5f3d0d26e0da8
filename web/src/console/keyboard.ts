/** Keys of the whole page, as a table. */

import { goTo, settings } from "./address.ts";
import { breakIt, standing } from "./breaks.ts";
import { toggle } from "./drawer.ts";
import * as listening from "./listening.ts";
import { isRunning } from "./phases.ts";
import * as speaking from "./speaking.ts";

/** What the page does on a key. */
export type Act =
  | "stop"
  | "say"
  | "talk"
  | "speak"
  | "listen"
  | "operations"
  | "events"
  | "code"
  | "cut"
  | "help";

const KEYS: Readonly<Record<string, Act>> = {
  Escape: "stop",
  Enter: "say",
  " ": "talk",
  "1": "speak",
  "2": "listen",
  "3": "operations",
  e: "events",
  c: "code",
  x: "cut",
  "?": "help",
};

/** What was pressed, and where. */
export interface Press {
  readonly key: string;
  readonly modified: boolean;
  /** Whether it goes into a field. */
  readonly typing: boolean;
  /** Whether the focus is on something that Space presses. */
  readonly pressable: boolean;
  /** Whether the focus is on nothing in particular. */
  readonly bare: boolean;
}

/** What `press` does, undefined if it belongs to the browser. */
export function actOf(press: Press): Act | undefined {
  if (press.modified) return undefined;
  if (press.key === "Escape") return "stop";
  if (press.typing) return undefined;
  if (press.key === " " && press.pressable) return undefined;
  if (press.key === "Enter" && !press.bare) return undefined;
  return KEYS[press.key];
}

const TYPED = "textarea, select, input:not([type=checkbox], [type=radio], [type=range])";
/** What was reached by keyboard has Space to itself; what was clicked gives it back to the page. */
const PRESSED = ":is(button, a, input):focus-visible";
/** The button that Space may press down and let go, as the bare page. */
const TALK = "#listen";

function pressOf(event: KeyboardEvent): Press {
  const target = event.target instanceof Element ? event.target : document.body;
  return {
    key: event.key,
    modified: event.ctrlKey || event.metaKey || event.altKey || event.isComposing,
    typing: target.closest(TYPED) !== null,
    pressable: target.closest(PRESSED) !== null && target.closest(TALK) === null,
    bare: target === document.body,
  };
}

/** Whether Space is held down to talk. */
let talking = false;

function act(what: Act, help: () => void): boolean {
  switch (what) {
    case "stop":
      speaking.stop();
      listening.stop();
      return false;
    case "say":
      if (settings.value.page !== "speak") return false;
      void speaking.speak();
      return true;
    case "talk":
      return talk();
    case "events":
    case "code":
      toggle(what);
      return true;
    case "cut":
      if (standing.value === "ready") void breakIt({ action: "cut" });
      return true;
    case "help":
      help();
      return true;
    default:
      goTo(what);
      return true;
  }
}

function talk(): boolean {
  if (settings.value.page !== "listen") return false;
  const { source } = settings.value;
  if (source === "file" && !listening.file.value) return true;
  if (!isRunning(listening.state.value.phase)) {
    talking = source === "microphone";
    void listening.listen();
  } else if (!talking) void listening.finish();
  return true;
}

/** Listen to the keyboard; `help` shows the list of keys. */
export function startKeyboard(help: () => void): void {
  addEventListener("keydown", (event) => {
    const what = actOf(pressOf(event));
    if (what === undefined || document.querySelector("dialog[open]")) return;
    if (event.repeat) {
      if (what === "talk" && settings.value.page === "listen") event.preventDefault();
      return;
    }
    if (act(what, help)) event.preventDefault();
  });
  addEventListener("keyup", (event) => {
    if (event.key !== " " || !talking) return;
    talking = false;
    event.preventDefault();
    void listening.finish();
  });
  // A window that loses the focus gets no keyup: the microphone must not stay open.
  addEventListener("blur", () => {
    if (!talking) return;
    talking = false;
    void listening.finish();
  });
}
