import{_ as e,c as t,f as n,h as r,l as i,r as a,v as o}from"./index-CxNqGKA2.js";var s=[`curl`,`python`,`javascript`];function c(e,t,n,r){let i=t.page===`listen`;return e===`curl`?u(t,n):e===`python`?i?y(t,n):v(t,n,r):i?C(t,n):S(t,n,r)}function l(e){return e.replace(/^http/,`ws`).replace(/\/$/,``)}function u(e,t){let n=t.replace(/\/$/,``),r={speak:`voices`,listen:`engines`,operations:`cluster`}[e.page];return[`v1/${r}`,...[`readyz`,`v1/voices`,`v1/engines`,`v1/cluster`].filter(e=>e!==`v1/${r}`)].map(e=>`curl -sS ${d(`${n}/${e}`)}\n`).join(``)}function d(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function f(e){return JSON.stringify(e).replace(/[\u007f-\u009f\u2028\u2029]/g,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,`0`)}`)}function p(e,t){return e.flatMap(([e,n])=>n===void 0?[]:[t(e,typeof n==`string`?f(n):m(n))])}function m(e){return typeof e==`boolean`?e?`True`:`False`:String(e)}function h(e){return[[`engine`,e.engine],[`voice`,e.voice],[`language`,e.spoken],[`speed`,e.speed===1?void 0:e.speed],[`streaming`,e.streaming?void 0:!1]]}function g(e){return[[`engine`,e.recognizer],[`language`,e.heard],[`frame_ms`,e.frameMs===20?void 0:e.frameMs]]}function _(e,t){return`${e}=${t}`}function v(e,t,n){let r=e.pace>0,i=[r?`words()`:`TEXT`,...p(h(e),_)],a=`

async def words():
    for word in re.findall(r"\\S+\\s*|\\s+", TEXT):
        yield word
        await asyncio.sleep(1 / ${e.pace})
`;return`import asyncio
${r?`import re
`:``}import wave

import legato

TEXT = ${f(n)}
${r?a:``}

async def main():
    async with legato.connect(${f(l(t))}) as client:
        with wave.open("speech.wav", "wb") as file:
            file.setparams((1, 2, 24_000, 0, "NONE", ""))
            async for chunk in client.speak(${i.join(`, `)}):
                file.writeframes(chunk.pcm)


asyncio.run(main())
`}function y(e,t){let n=[f(`speech.wav`),...p(g(e),_)];return`import asyncio

import legato


async def main():
    async with legato.connect(${f(l(t))}) as client:
        async for transcript in client.listen(${n.join(`, `)}):
            print("final  " if transcript.final else "partial", transcript.text)


asyncio.run(main())
`}function b(e,t){return`  ${e}: ${t===`False`?`false`:t},\n`}function x(e,t,n){return`{
  type: "stream_start",
  stream_id: crypto.randomUUID(),
  task: "${e}",
  framing: "raw",
  sample_rate: ${t},
${p(n,b).join(``)}}`}function S(e,t,n){let r=x(`synthesize`,`24000`,h(e)),i=`for (const word of text.match(/\\S+\\s*|\\s+/g)) {
    say({ type: "text", text: word });
    await new Promise((done) => setTimeout(done, 1000 / ${e.pace}));
  }`;return`const text = ${f(n)};
const start = ${r};

const socket = new WebSocket(${f(`${l(t)}/v1/stream`)}, "legato.v1");
socket.binaryType = "arraybuffer";
const say = (message) => socket.send(JSON.stringify(message));
let samples = 0;

socket.onopen = async () => {
  say(start);
  ${e.pace>0?i:`say({ type: "text", text });`}
  say({ type: "stream_end" });
};
socket.onmessage = ({ data }) => {
  // PCM, 16 bit, little-endian, mono, 24,000 Hz
  if (data instanceof ArrayBuffer) samples += data.byteLength / 2;
  else console.log(data);
};
socket.onclose = () => console.log(\`\${samples / 24000} s of audio\`);
`}function C(e,t){return`import { readFile } from "node:fs/promises";

const wav = await readFile("speech.wav"); // 16 bit, mono
const pcm = wav.subarray(wav.indexOf("data") + 8);
const start = ${x(`recognize`,`wav.readUInt32LE(24)`,g(e))};

const socket = new WebSocket(${f(`${l(t)}/v1/stream`)}, "legato.v1");
socket.onopen = () => {
  socket.send(JSON.stringify(start));
  for (let at = 0; at < pcm.length; at += 3200) socket.send(pcm.subarray(at, at + 3200));
  socket.send(JSON.stringify({ type: "stream_end" }));
};
socket.onmessage = ({ data }) => console.log(data);
`}var w=o(`python`);function T(){return c(w.value,r.value,n(),i.value)}function E(){return t(`section`,{class:`drawer-body`,tabIndex:0,"aria-label":e(`drawer.code`),children:[t(`p`,{class:`hint`,children:e(`code.${w.value}.note`)}),t(`pre`,{"data-code":w.value,children:T()})]})}function D(){return t(`div`,{class:`drawer-tools`,children:[t(`fieldset`,{class:`choice`,children:[t(`legend`,{class:`hidden`,children:e(`code.kinds`)}),s.map(n=>t(`button`,{type:`button`,class:`tab`,"aria-pressed":w.value===n,onClick:()=>{w.value=n},children:e(`code.${n}`)},n))]}),t(a,{text:T})]})}export{E as Code,D as CodeTools};