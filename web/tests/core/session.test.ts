/** The session does what Python's does, in conversations that were recorded there. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { decodeServer } from "../../src/core/codec.ts";
import { isObject } from "../../src/core/fields.ts";
import { AudioFrame, decodeFrame, encodeFrame } from "../../src/core/frame.ts";
import type { StreamStart } from "../../src/core/messages.ts";
import type { Event } from "../../src/core/session/events.ts";
import type { Item } from "../../src/core/session/lane.ts";
import type { Outgoing } from "../../src/core/session/link.ts";
import { Session } from "../../src/core/session/session.ts";
import type { Stream } from "../../src/core/session/stream.ts";
import { bytes, hex, vectors } from "./vectors.ts";

type Json = Record<string, unknown>;
type Step = [call: string, ...given: unknown[]];

interface Conversation {
  name: string;
  digest: boolean;
  steps: Step[];
}

const CONVERSATIONS = vectors<Conversation[]>("client_session.json");

const SCHEMA = JSON.parse(
  readFileSync(new URL("../../../docs/schema/legato.v1.json", import.meta.url), "utf-8"),
) as { $defs: Record<string, { properties: Record<string, Json> }> };

/** Payloads that are one sample again and again are written as that, and how often it comes. */
function payloadOf(text: string): Uint8Array {
  const [sample = "", times = "1"] = text.split("*");
  return bytes(sample.repeat(Number(times)));
}

function payloadText(payload: Uint8Array): string {
  const digits = hex(payload);
  const times = payload.length >> 1;
  const sample = digits.slice(0, 4);
  return times > 2 && sample.repeat(times) === digits ? `${sample}*${times}` : digits;
}

function frameOf(fields: Json): AudioFrame {
  return new AudioFrame(payloadOf(String(fields.payload)), fields);
}

function jsonOf(frame: AudioFrame): Json {
  const { payload, ...numbers } = frame;
  const set = Object.entries(numbers).filter(([, value]) => value);
  return { payload: payloadText(payload), ...Object.fromEntries(set) };
}

/** Leave out what is a default, as Python does. */
function sparse(value: Json, name: string): Json {
  const properties = SCHEMA.$defs[name]?.properties ?? {};
  const kept = Object.entries(value).flatMap(([field, its]) => {
    const schema = properties[field] ?? {};
    const inner = JSON.stringify(schema).match(/#\/\$defs\/(\w+)/)?.[1];
    const said = isObject(its) && inner ? sparse(its, inner) : its;
    const isDefault = JSON.stringify(said) === JSON.stringify(schema.default);
    return said === undefined || isDefault ? [] : [[field, said]];
  });
  return Object.fromEntries(kept);
}

function sparseMessage(message: { type: string }): Json {
  const words = message.type.split("_").map((word) => word[0]?.toUpperCase() + word.slice(1));
  return sparse({ ...message }, words.join(""));
}

function itemJson(item: Item): Json {
  return item instanceof AudioFrame ? jsonOf(item) : sparseMessage(item);
}

function outgoingJson({ data }: Outgoing): Json {
  return typeof data === "string" ? sparseMessage(JSON.parse(data)) : jsonOf(decodeFrame(data));
}

function eventJson(event: Event): Json {
  const told: Json = { kind: event.kind };
  if ("stream" in event) {
    told.stream = event.stream.number;
  }
  if ("error" in event) {
    told.code = event.error.code;
  }
  if (event.kind === "received") {
    told.items = event.items.map(itemJson);
  } else if (event.kind === "finished") {
    told.intact = event.intact;
  } else if (event.kind === "draining") {
    told.deadline = event.deadline;
  }
  return told;
}

/** Asks a session what was asked of Python's. */
class Player {
  readonly session: Session;
  private readonly streams: Stream[] = [];

  constructor(digest: boolean) {
    this.session = new Session(() => ({ type: "hello", version: 1 }), digest);
  }

  /** Do what a step says; returns what came of it and what should have. */
  play([call, ...given]: Step): [came: unknown, wanted: unknown] {
    const { session } = this;
    const now = Number(given[0]);
    switch (call) {
      case "connected":
        session.connected(now);
        break;
      case "disconnected":
        session.disconnected();
        break;
      case "receive":
        session.receive(this.entry(given[1] as Json), now);
        break;
      case "handle_timer":
        session.handleTimer(now);
        break;
      case "start":
        this.streams.push(session.start(given[0] as StreamStart));
        break;
      case "take_frames": {
        const frames = session.takeFrames(now).map(outgoingJson);
        const due = session.nextTimer(now);
        return [[frames, Number.isFinite(due) ? due : null], given.slice(1)];
      }
      case "take_events": {
        const events = session.takeEvents().filter(({ kind }) => kind !== "answered");
        return [events.map(eventJson), given[0]];
      }
      default:
        this.say(call, this.streams[now - 1] as Stream, given.slice(1));
    }
    return [undefined, undefined];
  }

  private entry(said: Json): ReturnType<typeof decodeServer> | AudioFrame {
    return "payload" in said
      ? decodeFrame(encodeFrame(frameOf(said)))
      : decodeServer(JSON.stringify(said));
  }

  private say(call: string, stream: Stream, [first, second]: unknown[]): void {
    switch (call) {
      case "stop":
        this.session.stop(stream);
        break;
      case "pace":
        this.session.setPace(stream, Number(first));
        break;
      case "send_audio":
        stream.sendAudio(payloadOf(String(first)), Boolean(second));
        break;
      case "send_text":
        stream.sendText(String(first));
        break;
      case "flush":
        stream.flush();
        break;
      case "finalize":
        stream.finalize();
        break;
      case "cancel":
        stream.cancel(Number(first), second === null ? undefined : Number(second));
        break;
      case "finish":
        stream.finish();
        break;
      case "consumed":
        stream.consumed(Number(first), Number(second));
        break;
      case "played":
        stream.played(Number(first), Number(second));
        break;
      default:
        throw new Error(`a step is not understood: ${call}`);
    }
  }
}

describe("a conversation goes as in Python", () => {
  test.each(CONVERSATIONS)("$name", ({ digest, steps }) => {
    const player = new Player(digest);
    for (const [index, step] of steps.entries()) {
      const [came, wanted] = player.play(step);
      expect(came, `step ${index}: ${step[0]} at ${step[1]}`).toEqual(wanted);
    }
    expect(steps.length).toBeGreaterThan(5);
  });
});
