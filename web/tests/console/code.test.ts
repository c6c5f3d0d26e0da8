import { expect, test } from "vitest";
import { CODE_KINDS, code, socketOrigin } from "../../src/console/code.ts";
import { DEFAULTS, type Settings } from "../../src/console/settings.ts";

const SERVER = "http://127.0.0.1:8440";
const HARD = `"It's" \\ 好 \u2028\n\${x} {y}`;

function literal(program: string, before: string): unknown {
  const line = program.split("\n").find((one) => one.startsWith(before)) ?? "";
  return JSON.parse(line.slice(before.length).replace(/;$/, ""));
}

test("a text with quotes, escapes and line ends stays what it is", () => {
  expect(literal(code("python", DEFAULTS, SERVER, HARD), "TEXT = ")).toBe(HARD);
  expect(literal(code("javascript", DEFAULTS, SERVER, HARD), "const text = ")).toBe(HARD);
});

test("settings that have their default are left out", () => {
  expect(code("python", DEFAULTS, SERVER, "Hello.")).toContain("client.speak(TEXT):");
  expect(code("javascript", DEFAULTS, SERVER, "Hello.")).not.toMatch(/speed|streaming|voice/);
});

test("settings that were made are in the program", () => {
  const settings: Settings = {
    ...DEFAULTS,
    engine: "espeak",
    voice: "zh",
    spoken: "cmn",
    speed: 1.25,
    streaming: false,
  };
  expect(code("python", settings, SERVER, "")).toContain(
    'client.speak(TEXT, engine="espeak", voice="zh", language="cmn", speed=1.25, streaming=False)',
  );
  const start = code("javascript", settings, SERVER, "");
  for (const line of ['engine: "espeak"', 'voice: "zh"', "speed: 1.25", "streaming: false"]) {
    expect(start).toContain(`  ${line},\n`);
  }
});

test("what is typed as a model would is sent word by word", () => {
  const settings = { ...DEFAULTS, pace: 8 };
  expect(code("python", settings, SERVER, "a b")).toContain("await asyncio.sleep(1 / 8)");
  expect(code("javascript", settings, SERVER, "a b")).toContain("1000 / 8");
});

test("listening has its own programs and settings", () => {
  const settings: Settings = {
    ...DEFAULTS,
    page: "listen",
    recognizer: "moonshine",
    heard: "en-US",
    frameMs: 200,
  };
  expect(code("python", settings, SERVER, "")).toContain(
    'client.listen("speech.wav", engine="moonshine", language="en-US", frame_ms=200)',
  );
  const program = code("javascript", settings, SERVER, "");
  expect(program).toContain('task: "recognize"');
  expect(program).toContain("frame_ms: 200");
});

test("curl asks what curl can ask, the page's own question first", () => {
  const asked = (page: Settings["page"]) =>
    code("curl", { ...DEFAULTS, page }, `${SERVER}/speech/`, "").split("\n")[0];
  expect(asked("speak")).toBe(`curl -sS '${SERVER}/speech/v1/voices'`);
  expect(asked("listen")).toContain("v1/engines");
  expect(asked("operations")).toContain("v1/cluster");
});

test("every program names the server", () => {
  for (const kind of CODE_KINDS) {
    for (const page of ["speak", "listen", "operations"] as const) {
      expect(code(kind, { ...DEFAULTS, page }, SERVER, "Hi.")).toContain("127.0.0.1:8440");
    }
  }
});

test("the WebSocket's origin follows the page's scheme", () => {
  expect(socketOrigin("https://host/speech/")).toBe("wss://host/speech");
});
