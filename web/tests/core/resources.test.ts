import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Client } from "../../src/core/client.ts";
import { addressOf } from "../../src/core/dialing.ts";

const answer = vi.fn<typeof fetch>();

beforeEach(() => {
  vi.stubGlobal("fetch", answer);
});

afterEach(() => {
  vi.unstubAllGlobals();
  answer.mockReset();
});

function answering(body: unknown, status = 200): void {
  answer.mockResolvedValue(new Response(JSON.stringify(body), { status }));
}

test("voices come with what the server leaves out", async () => {
  answering({ voices: [{ name: "heart", engine: "hibari", languages: ["en-US"] }, { name: "x" }] });
  const voices = await new Client({ url: "wss://server:1/", auth: "key" }).voices();

  expect(voices).toEqual([
    { name: "heart", engine: "hibari", languages: ["en-US"] },
    { name: "x", languages: [] },
  ]);
  const [url, init] = answer.mock.calls[0] ?? [];
  expect(url).toBe("https://server:1/v1/voices");
  expect(init?.headers).toEqual({ Authorization: "Bearer key" });
});

test("engines come with what the server leaves out", async () => {
  answering({ engines: [{ kind: "synthesize", name: "tone", voices: [{ name: "tone" }] }] });
  expect(await new Client({ url: "ws://server" }).engines()).toEqual([
    {
      kind: "synthesize",
      name: "tone",
      state: "loading",
      default: false,
      version: "",
      slots: 0,
      deterministic: false,
      languages: [],
      voices: [{ name: "tone", languages: [] }],
    },
  ]);
});

test("what the server says is wrong is an error with its code", async () => {
  answering({ error: { code: "bus_unavailable", message: "no bus" } }, 503);
  await expect(new Client({ url: "ws://server" }).cluster()).rejects.toMatchObject({
    code: "bus_unavailable",
    message: "no bus",
    retryable: true,
  });
});

test.each([
  ["another server", () => answering("hello")],
  ["a page that is missing", () => answering({}, 404)],
  ["no JSON", () => answer.mockResolvedValue(new Response("<html>"))],
  ["no answer", () => answer.mockRejectedValue(new TypeError("fetch failed"))],
])("%s is no server of ours", async (_, arrange) => {
  arrange();
  await expect(new Client({ url: "ws://server" }).voices()).rejects.toMatchObject({
    code: "connection_lost",
  });
});

describe("an address", () => {
  test.each([
    ["ws://server", "ws://server/v1/stream", "http://server/v1/"],
    ["https://server:8440", "wss://server:8440/v1/stream", "https://server:8440/v1/"],
    ["ws://server/a/v1/stream", "ws://server/a/v1/stream", "http://server/a/v1/"],
    ["ws://server/?x=1", "ws://server/v1/stream?x=1", "http://server/v1/"],
  ])("%s", (url, stream, resources) => {
    expect(addressOf(url)).toEqual({ stream, resources });
  });

  test("is where the page came from, unless one is given", () => {
    vi.stubGlobal("location", { href: "https://server/console/?lang=zh#speak" });
    expect(addressOf(undefined).stream).toBe("wss://server/v1/stream");
    expect(addressOf("/v1/stream").stream).toBe("wss://server/v1/stream");
  });

  test("below the path of a proxy is beside the page", () => {
    vi.stubGlobal("document", { baseURI: "https://host/speech/?lang=zh#/speak" });
    expect(addressOf(undefined)).toEqual({
      stream: "wss://host/speech/v1/stream",
      resources: "https://host/speech/v1/",
    });
    expect(addressOf("/v1/stream").stream).toBe("wss://host/v1/stream");
    vi.stubGlobal("document", { baseURI: "http://host:8440/index.html" });
    expect(addressOf(undefined).stream).toBe("ws://host:8440/v1/stream");
    vi.unstubAllGlobals();
  });

  test.each(["ftp://server", "server", undefined])("%s is none", (url) => {
    expect(() => addressOf(url)).toThrow(/is no address|is not ws/);
  });
});
