/** The current settings as programs: pure, so that a test runs each of them. */

import type { Settings } from "./settings.ts";

export type CodeKind = "curl" | "python" | "javascript";
export const CODE_KINDS: readonly CodeKind[] = ["curl", "python", "javascript"];

/** The program of `kind` for `settings`; `server` is the page's origin, `text` what is spoken. */
export function code(kind: CodeKind, settings: Settings, server: string, text: string): string {
  const listening = settings.page === "listen";
  if (kind === "curl") return curl(settings, server);
  if (kind === "python") {
    return listening ? pythonListen(settings, server) : pythonSpeak(settings, server, text);
  }
  return listening ? javascriptListen(settings, server) : javascriptSpeak(settings, server, text);
}

/** The WebSocket origin of an HTTP origin. */
export function socketOrigin(server: string): string {
  return server.replace(/^http/, "ws").replace(/\/$/, "");
}

function curl(settings: Settings, server: string): string {
  const origin = server.replace(/\/$/, "");
  const asked = { speak: "voices", listen: "engines", operations: "cluster" }[settings.page];
  const paths = ["readyz", "v1/voices", "v1/engines", "v1/cluster"];
  const order = [`v1/${asked}`, ...paths.filter((path) => path !== `v1/${asked}`)];
  return order.map((path) => `curl -sS ${shell(`${origin}/${path}`)}\n`).join("");
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A Python or JavaScript string literal; JSON's escapes are valid in both. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

type Option = readonly [name: string, value: string | number | boolean | undefined];

function options(
  pairs: readonly Option[],
  show: (name: string, value: string) => string,
): string[] {
  return pairs.flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [show(name, typeof value === "string" ? quoted(value) : python(value))];
  });
}

function python(value: number | boolean): string {
  return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
}

function speakOptions(settings: Settings): Option[] {
  return [
    ["engine", settings.engine],
    ["voice", settings.voice],
    ["language", settings.spoken],
    ["speed", settings.speed === 1 ? undefined : settings.speed],
    ["streaming", settings.streaming ? undefined : false],
  ];
}

function listenOptions(settings: Settings): Option[] {
  return [
    ["engine", settings.recognizer],
    ["language", settings.heard],
    ["frame_ms", settings.frameMs === 20 ? undefined : settings.frameMs],
  ];
}

function argument(name: string, value: string): string {
  return `${name}=${value}`;
}

function pythonSpeak(settings: Settings, server: string, text: string): string {
  const typed = settings.pace > 0;
  const told = [typed ? "words()" : "TEXT", ...options(speakOptions(settings), argument)];
  const words = `

async def words():
    for word in re.findall(r"\\S+\\s*|\\s+", TEXT):
        yield word
        await asyncio.sleep(1 / ${settings.pace})
`;
  return `import asyncio
${typed ? "import re\n" : ""}import wave

import legato

TEXT = ${quoted(text)}
${typed ? words : ""}

async def main():
    async with legato.connect(${quoted(socketOrigin(server))}) as client:
        with wave.open("speech.wav", "wb") as file:
            file.setparams((1, 2, 24_000, 0, "NONE", ""))
            async for chunk in client.speak(${told.join(", ")}):
                file.writeframes(chunk.pcm)


asyncio.run(main())
`;
}

function pythonListen(settings: Settings, server: string): string {
  const told = [quoted("speech.wav"), ...options(listenOptions(settings), argument)];
  return `import asyncio

import legato


async def main():
    async with legato.connect(${quoted(socketOrigin(server))}) as client:
        async for transcript in client.listen(${told.join(", ")}):
            print("final  " if transcript.final else "partial", transcript.text)


asyncio.run(main())
`;
}

function entry(name: string, value: string): string {
  return `  ${name}: ${value === "False" ? "false" : value},\n`;
}

function javascriptStart(task: string, rate: string, told: readonly Option[]): string {
  return `{
  type: "stream_start",
  stream_id: crypto.randomUUID(),
  task: "${task}",
  framing: "raw",
  sample_rate: ${rate},
${options(told, entry).join("")}}`;
}

function javascriptSpeak(settings: Settings, server: string, text: string): string {
  const start = javascriptStart("synthesize", "24000", speakOptions(settings));
  const all = 'say({ type: "text", text });';
  const typed = `for (const word of text.match(/\\S+\\s*|\\s+/g)) {
    say({ type: "text", text: word });
    await new Promise((done) => setTimeout(done, 1000 / ${settings.pace}));
  }`;
  return `const text = ${quoted(text)};
const start = ${start};

const socket = new WebSocket(${quoted(`${socketOrigin(server)}/v1/stream`)}, "legato.v1");
socket.binaryType = "arraybuffer";
const say = (message) => socket.send(JSON.stringify(message));
let samples = 0;

socket.onopen = async () => {
  say(start);
  ${settings.pace > 0 ? typed : all}
  say({ type: "stream_end" });
};
socket.onmessage = ({ data }) => {
  // PCM, 16 bit, little-endian, mono, 24,000 Hz
  if (data instanceof ArrayBuffer) samples += data.byteLength / 2;
  else console.log(data);
};
socket.onclose = () => console.log(\`\${samples / 24000} s of audio\`);
`;
}

function javascriptListen(settings: Settings, server: string): string {
  const start = javascriptStart("recognize", "wav.readUInt32LE(24)", listenOptions(settings));
  return `import { readFile } from "node:fs/promises";

const wav = await readFile("speech.wav"); // 16 bit, mono
const pcm = wav.subarray(wav.indexOf("data") + 8);
const start = ${start};

const socket = new WebSocket(${quoted(`${socketOrigin(server)}/v1/stream`)}, "legato.v1");
socket.onopen = () => {
  socket.send(JSON.stringify(start));
  for (let at = 0; at < pcm.length; at += 3200) socket.send(pcm.subarray(at, at + 3200));
  socket.send(JSON.stringify({ type: "stream_end" }));
};
socket.onmessage = ({ data }) => console.log(data);
`;
}
