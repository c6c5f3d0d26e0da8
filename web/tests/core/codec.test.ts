import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeServer, encode } from "../../src/core/codec.ts";
import { LegatoError } from "../../src/core/failure.ts";

/** The code of the error that some text is refused with; anything else fails the test. */
function refusal(text: string): string | undefined {
  try {
    decodeServer(text);
  } catch (error) {
    if (error instanceof LegatoError) {
      return error.code;
    }
    throw error;
  }
  return undefined;
}

const WELCOME = { type: "welcome", version: 1, session_id: "s", resume_token: "t" };

test("what is left out has its default, inside too", () => {
  expect(decodeServer(JSON.stringify({ ...WELCOME, heartbeat: { active: 1 } }))).toEqual({
    ...WELCOME,
    features: [],
    limits: {
      resume_window: 30,
      max_message_bytes: 262_144,
      max_streams: 64,
      max_text_chars: 20_000,
    },
    heartbeat: { idle: 30, active: 1, timeout: 5 },
  });
});

test("fields that are not known are left out, and so are those that are null", () => {
  const said = { type: "error", code: "internal", retry_after: null, news: 1 };
  expect(decodeServer(JSON.stringify(said))).toEqual({
    type: "error",
    code: "internal",
    message: "",
    retryable: false,
  });
});

test("words of a transcript keep their times", () => {
  const words = [
    { text: "one", start: 0.1, end: 0.4 },
    { text: "two", start: 0.5, end: 0.75, confidence: 0.5 },
  ];
  const said = { type: "transcript", kind: "final", text: "one two", words };
  expect(decodeServer(JSON.stringify(said))).toMatchObject({ words, utterance: 0, stream: 0 });
});

describe("a message is refused", () => {
  test.each([
    ["that is no JSON", "{", "malformed_message"],
    ["that is no object", "[1]", "malformed_message"],
    ["without a type", "{}", "malformed_message"],
    ["of an unknown type", '{"type":"gossip"}', "unexpected_message"],
    ["of a type that only a client sends", '{"type":"hello","version":1}', "unexpected_message"],
    ["of a type that objects have anyway", '{"type":"toString"}', "unexpected_message"],
    ["whose type is a part of messages", '{"type":"Limits"}', "unexpected_message"],
    ["that lacks a field", '{"type":"draining"}', "malformed_message"],
    ["with text for a number", '{"type":"ping","id":"1"}', "malformed_message"],
    ["with a number that is not whole", '{"type":"ping","id":1.5}', "malformed_message"],
    [
      "with a number that is too large",
      '{"type":"ping","id":9007199254740992}',
      "malformed_message",
    ],
    ["with a duration below 0", '{"type":"draining","deadline":-1}', "malformed_message"],
    ["with another word", '{"type":"notice","kind":"rumour"}', "malformed_message"],
    ["with no pair", '{"type":"resumed","recovered":false,"missing":[1]}', "malformed_message"],
    ["with null for a number", '{"type":"ping","id":null}', "malformed_message"],
    [
      "with something wrong in a list",
      '{"type":"transcript","kind":"final","text":"","words":[{"text":"a","start":0}]}',
      "malformed_message",
    ],
    [
      "with a heartbeat that never rests",
      JSON.stringify({ ...WELCOME, heartbeat: { idle: 0 } }),
      "malformed_message",
    ],
    ["that is too large", JSON.stringify("x".repeat(262_144)), "message_too_large"],
    ["that is too large in bytes", JSON.stringify("語".repeat(87_400)), "message_too_large"],
  ])("%s", (_, text, code) => {
    expect(refusal(text)).toBe(code);
  });
});

test("the sentence says where", () => {
  const said = { ...WELCOME, limits: { max_streams: -1 } };
  expect(() => decodeServer(JSON.stringify(said))).toThrow(
    "expected number - at `$.limits.max_streams`",
  );
});

test("nothing but a typed error comes of any message", () => {
  const types = fc.constantFrom(
    "welcome",
    "ack",
    "transcript",
    "error",
    "resumed",
    "stream_started",
  );
  const fields = fc.constantFrom(
    "stream",
    "seq",
    "kind",
    "words",
    "limits",
    "missing",
    "code",
    "epoch",
  );
  fc.assert(
    fc.property(types, fc.dictionary(fields, fc.jsonValue()), (type, said) => {
      refusal(JSON.stringify({ ...said, type }));
    }),
    { numRuns: 2000 },
  );
});

test("a message that is too large is not sent", () => {
  const text = "x".repeat(300_000);
  expect(() => encode({ type: "text", stream: 1, text })).toThrow("above the limit of 262144");
});
