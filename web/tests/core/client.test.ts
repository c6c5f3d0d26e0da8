import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClientOptions, LinkState, SynthesisOptions, Traffic } from "../../src/core/api.ts";
import { Client } from "../../src/core/client.ts";
import { LegatoError } from "../../src/core/failure.ts";
import { Chain } from "../../src/core/flow/digest.ts";
import { FakeNetwork, type FakeSocket, started, tone, turn } from "./fake_socket.ts";

let network: FakeNetwork;
let states: LinkState[];
let told: unknown[];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  network = new FakeNetwork();
  states = [];
  told = [];
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function client(options: ClientOptions = {}): Client {
  return new Client({
    url: "ws://server",
    webSocket: network.webSocket,
    onState: (state) => states.push(state),
    ...options,
  });
}

/** Handlers that note what they are told. */
function noting(): SynthesisOptions {
  return {
    sampleRate: 16_000,
    onStarted: ({ engine }) => told.push(["started", engine]),
    onAudio: ({ sample, pcm }) => told.push(["audio", sample, pcm.length]),
    onUtteranceEnd: ({ reason }) => told.push(["utterance", reason]),
    onNotice: ({ kind }) => told.push(["notice", kind]),
    onResumed: ({ recovered, missing }) => told.push(["resumed", recovered, missing]),
    onEnd: ({ verified, samples }) => told.push(["end", verified, samples]),
    onFailure: ({ code }) => told.push(["failure", code]),
  };
}

/** A client with a stream that runs. */
async function speaking(options: ClientOptions = {}) {
  const speaker = client(options);
  const speech = speaker.synthesize(noting());
  await turn();
  const socket = await network.greet();
  socket.hear(started(1, { engine: "tone" }));
  await turn();
  return { speaker, speech, socket };
}

function chain(times: number): string {
  const digest = new Chain();
  for (let count = 0; count < times; count++) {
    digest.update(tone(0).payload);
  }
  return digest.hex();
}

describe("a stream", () => {
  test("begins in the first flight", async () => {
    const speech = client({ auth: "key" }).synthesize({ voice: "v", language: "en" });
    speech.say("hello");
    speech.end();
    await turn();
    const { last } = network;
    expect([last.url, last.protocols]).toEqual(["ws://server/v1/stream", ["legato.v1"]]);
    expect(last.sent).toEqual([]);

    last.open();
    await turn();

    const types = last.sent.map((one) => "type" in one && one.type);
    expect(types).toEqual(["hello", "stream_start", "text", "finalize", "stream_end"]);
    expect(last.told("hello")[0]).toMatchObject({ version: 1, auth: "key" });
    expect(last.told("stream_start")[0]).toMatchObject({
      task: "synthesize",
      sample_rate: 24_000,
      voice: "v",
      language: "en",
      stream: 1,
    });
  });

  test("tells what comes, and at the end whether it is what was sent", async () => {
    const { socket } = await speaking();
    socket.hear(tone(0), tone(1));
    socket.hear({ type: "utterance_end", stream: 1, seq: 2, utterance: 0, reason: "done" });
    socket.hear({
      type: "stream_end",
      stream: 1,
      seq: 3,
      frames: 2,
      samples: 640,
      digest: chain(2),
    });
    await turn();

    expect(told).toEqual([
      ["started", "tone"],
      ["audio", 0, 320],
      ["audio", 320, 320],
      ["utterance", "done"],
      ["end", true, 640],
    ]);
    expect(socket.told("ack").at(-1)).toMatchObject({ received_seq: 3, committed_seq: 3 });
  });

  test("sets no timer for each frame that comes", async () => {
    const { socket } = await speaking();
    const timers = vi.spyOn(globalThis, "setTimeout");
    for (let seq = 0; seq < 50; seq++) {
      await turn(0.02);
      socket.hear(tone(seq));
    }
    expect(timers.mock.calls.length).toBeLessThan(25); // acknowledgements have theirs
    await turn(1);
    expect(socket.told("ack").at(-1)).toMatchObject({ received_seq: 49 });
  });

  test("is not verified when digests differ", async () => {
    const { socket } = await speaking();
    socket.hear(tone(0));
    socket.hear({
      type: "stream_end",
      stream: 1,
      seq: 1,
      frames: 1,
      samples: 320,
      digest: chain(2),
    });

    expect(told.at(-1)).toEqual(["end", false, 320]);
  });

  test("that fails leaves others alone", async () => {
    const { speaker, socket } = await speaking();
    speaker.synthesize(noting());
    socket.hear({ type: "error", stream: 1, code: "engine_failed", message: "it died" });
    socket.hear(started(2, { engine: "other" }));

    expect(told.slice(1)).toEqual([
      ["failure", "engine_failed"],
      ["started", "other"],
    ]);
  });

  test("that is stopped tells nothing more, and the server deletes it", async () => {
    const { speech, socket } = await speaking();
    speech.stop();
    socket.hear(tone(0));
    await turn();

    expect(told).toEqual([["started", "tone"]]);
    expect(socket.told("stop")).toEqual([{ type: "stop", stream: 1 }]);
  });

  test("that is over ignores what is said, and keeps nothing of it", async () => {
    const { speaker, speech, socket } = await speaking();
    const hearing = speaker.recognize();
    socket.break(4401);
    const sent = socket.sent.length;
    for (const stream of [speech, hearing]) {
      stream.pace(2);
      stream.flush();
      stream.finalize();
      stream.cancel();
      stream.end();
      stream.stop();
    }
    speech.say("x".repeat(30_000));
    speech.played(1);
    hearing.send(new Int16Array(16_000));
    await turn(1);

    expect(hearing.queued).toBe(0);
    expect(socket.sent).toHaveLength(sent);
    expect(told.at(-1)).toEqual(["failure", "unauthenticated"]);
  });

  test("that is cancelled gives no sample of it to a handler", async () => {
    const { speech, socket } = await speaking();
    speech.say("one");
    await turn();
    socket.hear(tone(0));
    speech.cancel(100);
    socket.hear(tone(1));
    speech.say("two");
    await turn();
    socket.hear(
      { type: "utterance_end", stream: 1, seq: 2, utterance: 0, reason: "cancelled", sent_seq: 1 },
      tone(3, { utterance: 1 }),
    );

    expect(told.slice(1)).toEqual([
      ["audio", 0, 320],
      ["utterance", "cancelled"],
      ["audio", 960, 320],
    ]);
    expect(socket.told("cancel")).toMatchObject([{ utterance: 0, played_upto: 100 }]);
  });

  test("goes on though a handler throws", async () => {
    const speech = client().synthesize({
      ...noting(),
      onStarted: () => {
        throw new Error("a bug of the application");
      },
    });
    speech.say("one");
    await turn();
    const socket = await network.greet();
    socket.hear(started(1), tone(0));

    expect(told).toEqual([["audio", 0, 320]]);
    await expect(turn(0.001)).rejects.toThrow("a bug of the application");
  });

  test("of which the listener is told gives credit as it is heard", async () => {
    const { speech, socket } = await speaking();
    speech.played(0);
    socket.hear(tone(0), tone(1));
    await turn(0.2);
    expect(socket.told("ack").at(-1)).toMatchObject({ credit_samples: 480_000, played_upto: 0 });

    speech.played(320, { underruns: 2, buffered: 0.02 });
    await turn(0.2);

    expect(socket.told("ack").at(-1)).toMatchObject({
      credit_samples: 480_320,
      played_upto: 320,
      quality: { stalls: 2, buffered: 0.02 },
    });
  });

  test("takes no more text in an utterance than the server does", async () => {
    const { speech } = await speaking();
    speech.say("x".repeat(20_000));
    expect(() => speech.say("x")).toThrow("20000 characters");
    speech.finalize();
    speech.say("x");
    expect(() => speech.say("\ud800")).toThrow("UTF-8");
  });
});

describe("audio that goes up", () => {
  test("goes in frames, the rest of it at the end", async () => {
    const hearing = client().recognize({ sampleRate: 8000 });
    hearing.send(new Int16Array(100).fill(1));
    hearing.send(new Int16Array(250).fill(2));
    expect(hearing.queued).toBeCloseTo(0.04);
    await turn();
    const socket = await network.greet();
    hearing.end();
    await turn();

    expect(socket.frames.map(({ payload, sample }) => [payload.length, sample])).toEqual([
      [320, 0],
      [320, 160],
      [60, 320],
    ]);
    expect(hearing.queued).toBe(0);
    expect(socket.told("stream_end")[0]).toMatchObject({ frames: 3, samples: 350 });
  });

  test("is refused while too much waits", () => {
    const hearing = client().recognize({ sampleRate: 8000 });
    hearing.send(new Int16Array(8000 * 600 + 160));
    expect(() => hearing.send(new Int16Array(1))).toThrow("600 s of audio");
  });

  test("waits while the socket's buffer is full", async () => {
    const echo = client().echo({ sampleRate: 16_000 });
    await turn();
    const socket = await network.greet();
    socket.hear(started(1));
    socket.bufferedAmount = 65_536;
    echo.send(new Int16Array(640));
    socket.hear({ type: "ping", id: 1 });
    await turn(1);
    expect([socket.frames, socket.told("pong")]).toEqual([[], []]);

    socket.bufferedAmount = 65_000;
    await turn(0.05);

    expect(socket.told("pong")).toHaveLength(1);
    expect(socket.frames).toHaveLength(2);
  });
});

describe("a connection that is lost", () => {
  test("is replaced, and its streams go on", async () => {
    const { speech, socket } = await speaking();
    speech.say("one");
    await turn();
    socket.hear(tone(0));
    socket.break();
    await turn();
    expect(states).toEqual(["connecting", "open", "recovering"]);

    await turn(0.125); // half of 250 ms
    expect(network.sockets).toHaveLength(2);
    const next = await network.greet("another");
    expect(next.told("resume")).toEqual([
      {
        type: "resume",
        stream: 1,
        stream_id: speech.id,
        token: "token",
        epoch: 0,
        received_seq: 0,
        sent_seq: 0,
      },
    ]);
    next.hear({ type: "resumed", stream: 1, recovered: true, received_seq: -1 }, tone(1));
    await turn();

    expect(next.told("text")).toMatchObject([{ text: "one", seq: 0 }]);
    expect(told.slice(2)).toEqual([
      ["notice", "recovering"],
      ["notice", "restored"],
      ["resumed", true, undefined],
      ["audio", 320, 320],
    ]);
    expect(states.at(-1)).toBe("open");
  });

  test("is sought until the server keeps the streams no more", async () => {
    const { socket } = await speaking();
    socket.break();
    for (let second = 0; second < 34; second++) {
      await turn(1);
      network.last.break();
      expect(told).not.toContainEqual(["failure", "connection_lost"]);
    }
    await turn(2);
    network.last.break();
    await turn(2);

    expect(told.at(-1)).toEqual(["failure", "connection_lost"]);
    expect(states.at(-1)).toBe("closed");
    expect(network.sockets.length).toBeGreaterThan(10);
  });

  test("is sought again at once when an attempt was waited for in vain", async () => {
    const { socket } = await speaking();
    socket.break();
    await turn(0.13);
    expect(network.sockets).toHaveLength(2);
    await turn(0.5);

    expect(network.sockets).toHaveLength(3);
    expect(network.sockets[1]?.closedWith).toBe(1000);
  });

  test("is the end of its streams where nobody wants another", async () => {
    const { socket } = await speaking({ reconnect: "never" });
    socket.break();
    await turn(5);

    expect(told.at(-1)).toEqual(["failure", "connection_lost"]);
    expect(network.sockets).toHaveLength(1);
  });

  test("is not sought again with a key that is not let in", async () => {
    const { socket } = await speaking();
    socket.break(4401);
    await turn(5);

    expect(told.at(-1)).toEqual(["failure", "unauthenticated"]);
    expect(network.sockets).toHaveLength(1);
  });

  test("without streams is made anew for the next one", async () => {
    const { speaker, speech, socket } = await speaking();
    speech.stop();
    socket.break();
    await turn();
    expect(states.at(-1)).toBe("closed");

    speaker.synthesize();
    await turn();

    expect(network.sockets).toHaveLength(2);
    expect(states.at(-1)).toBe("connecting");
  });

  test("without streams is made anew by who was told to connect, ever more rarely", async () => {
    const idle = client();
    idle.connect();
    await turn();
    (await network.greet()).break();
    await turn(0.9);
    expect(network.sockets).toHaveLength(1);
    await turn(0.2);
    expect(network.sockets).toHaveLength(2);
    for (const [wait, sockets] of [
      [2, 3],
      [4, 4],
      [8, 5],
      [15, 6],
      [15, 7],
    ] as const) {
      network.last.break();
      await turn(wait - 0.1);
      expect(network.sockets).toHaveLength(sockets - 1);
      await turn(0.2);
      expect(network.sockets).toHaveLength(sockets);
    }
    (await network.greet()).break();
    await turn(1.1);
    expect(network.sockets).toHaveLength(8);
    network.last.break();
    await turn();
    idle.close();
    await turn(60);
    expect(network.sockets).toHaveLength(8);
    expect(states.slice(0, 4)).toEqual(["connecting", "open", "closed", "connecting"]);
  });

  test("is not made anew where nobody wants it, or the key is not let in", async () => {
    const never = client({ reconnect: "never" });
    never.connect();
    await turn();
    (await network.greet()).break();
    const refused = client({ auth: "wrong" });
    refused.connect();
    await turn();
    network.last.open();
    await turn();
    network.last.break(4401);
    await turn(60);
    expect(network.sockets).toHaveLength(2);
  });

  test("lost history is told with what is missing", async () => {
    const { socket } = await speaking();
    socket.break();
    await turn(0.125);
    const next = await network.greet();
    next.hear({ type: "resumed", stream: 1, recovered: false, missing: [0, 320] });

    expect(told.slice(-2)).toEqual([
      ["resumed", false, [0, 320]],
      ["failure", "resume_gap"],
    ]);
  });
});

describe("a server that is silent", () => {
  async function silent(): Promise<FakeSocket> {
    const { socket } = await speaking();
    await turn(2.01);
    expect(socket.told("ping")).toHaveLength(1);
    await turn(0.7); // half a second of grace, and the back-off
    expect(network.sockets).toHaveLength(2);
    expect(socket.closedWith).toBeUndefined();
    return socket;
  }

  test("is asked, and loses the race to a second connection", async () => {
    const socket = await silent();
    expect(states.at(-1)).toBe("recovering");
    const next = await network.greet();
    next.hear({ type: "resumed", stream: 1, recovered: true, received_seq: -1 });
    await turn();

    expect(socket.closedWith).toBe(1000);
    expect(states.at(-1)).toBe("open");
    socket.hear(tone(0));
    expect(told).not.toContainEqual(["audio", 0, 320]);
  });

  test("wins the race if it speaks first", async () => {
    const socket = await silent();
    socket.hear(tone(0));
    await turn(1);

    expect(network.last.closedWith).toBe(1000);
    expect(socket.closedWith).toBeUndefined();
    expect(told.at(-1)).toEqual(["audio", 0, 320]);
    expect(states.at(-1)).toBe("open");
  });
});

describe("a server that goes away", () => {
  test("keeps its streams until they are elsewhere; new ones begin elsewhere", async () => {
    const { speaker, speech, socket } = await speaking();
    socket.hear({ type: "draining", deadline: 5, resume_token: "elsewhere" });
    await turn(0.2);
    expect(states.at(-1)).toBe("open");
    const next = await network.greet();
    expect(next.told("resume")).toMatchObject([{ token: "elsewhere" }]);
    next.hear({ type: "resumed", stream: 1, recovered: true, received_seq: -1 });
    await turn();
    expect(socket.closedWith).toBe(1000);

    next.hear({ type: "draining", deadline: 5 });
    speaker.synthesize();
    await turn();
    expect(network.sockets).toHaveLength(3);
    network.last.open();
    await turn();

    expect(next.told("stream_start")).toEqual([]);
    expect(network.last.told("stream_start")).toHaveLength(1);

    await turn(0.2);
    const moved = await network.greet();
    moved.hear({ type: "resumed", stream: 1, recovered: true, received_seq: -1 });
    expect(moved.closedWith).toBeUndefined();
    speech.stop();
    expect(moved.closedWith).toBe(1000); // nobody opens a stream there any more
  });
});

describe("the first connection", () => {
  test("that cannot be made fails what waits for it", async () => {
    client().synthesize(noting());
    await turn();
    network.last.break();
    await turn();

    expect(told).toEqual([["failure", "connection_lost"]]);
    expect(states).toEqual(["connecting", "closed"]);
  });

  test("that breaks before the welcome is made again, and streams begin again", async () => {
    const speech = client().synthesize(noting());
    speech.say("one");
    await turn();
    const { last } = network;
    last.open();
    await turn();
    last.break();
    await turn(0.13);
    const next = await network.greet();
    next.hear(started(1, { engine: "tone" }), tone(0));

    expect(states).toEqual(["connecting", "open"]);
    expect(next.told("stream_start")).toEqual(last.told("stream_start"));
    expect(next.told("text")).toMatchObject([{ text: "one", seq: 0 }]);
    expect(told.slice(-2)).toEqual([
      ["started", "tone"],
      ["audio", 0, 320],
    ]);
  });

  test("that breaks again and again before a welcome is given up in time", async () => {
    client({ connectTimeout: 3 }).synthesize(noting());
    for (let count = 0; count < 90; count++) {
      await turn(0.1);
      network.last.open();
      await turn();
      network.last.break();
    }
    await turn(1);

    expect(told.at(-1)).toEqual(["failure", "connection_lost"]);
    expect(states).toEqual(["connecting", "closed"]);
  });

  test("has its time", async () => {
    client({ connectTimeout: 3 }).synthesize(noting());
    await turn(2.9);
    expect(told).toEqual([]);
    await turn(0.2);

    expect(told).toEqual([["failure", "connection_lost"]]);
    expect(network.last.closedWith).toBe(1000);
  });

  test("to what does not say hello is given up", async () => {
    client().synthesize(noting());
    await turn();
    network.last.open();
    await turn(5.1);

    expect(told).toEqual([["failure", "connection_lost"]]);
  });
});

test("a server that breaks the rules is left", async () => {
  const { socket } = await speaking();
  socket.hear("this is no JSON");
  await turn();

  expect(told.at(-1)).toEqual(["failure", "malformed_message"]);
  expect(socket.closedWith).toBe(4400);
});

test("closing stops all streams, and says so to the server", async () => {
  const { speaker, socket } = await speaking();
  speaker.close();
  await turn();

  expect(socket.told("stop")).toHaveLength(1);
  expect(socket.closedWith).toBe(1000);
  expect(states.at(-1)).toBe("closed");
  expect(told).toEqual([["started", "tone"]]);
  expect(() => speaker.synthesize()).toThrow("closed");
  expect(vi.getTimerCount()).toBe(0);
});

test("closing before there is a connection leaves nothing behind", async () => {
  const speaker = client();
  speaker.connect();
  await turn();
  speaker.close();
  await turn();

  expect(network.last.closedWith).toBe(1000);
  expect(vi.getTimerCount()).toBe(0);
});

test("the round trip is measured again and again where somebody wants to know", async () => {
  const trips: number[] = [];
  client({ onRoundTrip: (seconds) => trips.push(seconds) }).connect();
  await turn();
  const socket = await network.greet();
  for (let count = 1; count <= 3; count++) {
    await turn(0.04);
    socket.hear({ ...socket.told("ping").at(-1), type: "pong" });
    await turn(4.96);
  }

  expect(trips.map((trip) => Math.round(trip * 1000))).toEqual([40, 40, 40]);
});

test("what passes is told, without keys and audio", async () => {
  const passed: Traffic[] = [];
  const { speech, socket } = await speaking({
    auth: "secret",
    onTraffic: (one) => passed.push(one),
  });
  speech.say("語");
  await turn();
  socket.hear(tone(0));

  expect(passed.map(({ direction, message }) => [direction, message?.type])).toEqual([
    ["up", "hello"],
    ["up", "stream_start"],
    ["down", "welcome"],
    ["down", "stream_started"],
    ["up", "ack"],
    ["up", "text"],
    ["down", undefined],
  ]);
  const text = '{"type":"text","stream":1,"text":"語","seq":0}';
  expect(passed.at(-2)?.sizeBytes).toBe(Buffer.from(text).length);
  expect(JSON.stringify(passed)).not.toContain("secret");
  expect(passed.at(-1)).toMatchObject({
    connection: 1,
    audio: { stream: 1, seq: 0, sample: 0, samples: 320, utterance: 0, last: false },
  });
});

test("what the browser believes of the network is a hint", async () => {
  const connection = { effectiveType: "3g", rtt: 300, downlink: 1.5, saveData: true };
  vi.stubGlobal("navigator", { connection });
  client().connect();
  await turn();
  network.last.open();
  await turn();

  expect(network.last.told("hello")[0]).toMatchObject({
    network_hint: { effective_type: "3g", rtt: 0.3, downlink_kbps: 1500, save_data: true },
  });
});

test("parameters that no server could serve are refused at once", () => {
  const refusal = (act: () => unknown): unknown => {
    try {
      act();
    } catch (error) {
      return error instanceof LegatoError ? error.code : error;
    }
    return undefined;
  };
  expect(refusal(() => client().synthesize({ sampleRate: 4000 }))).toBe("unsupported_format");
  expect(refusal(() => client().synthesize({ speed: 9 }))).toBe("malformed_message");
  expect(refusal(() => client().recognize({ frameMs: 5 }))).toBe("unsupported_format");
  const options = { text: "x".repeat(300_000) };
  expect(refusal(() => client().recognize({ options }))).toBe("message_too_large");
});
