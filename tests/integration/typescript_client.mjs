// Does one thing with the client for browsers and prints what came of it, as JSON.
//
// node typescript_client.mjs URL TASK INPUT PACE
//   TASK  `speak` a text, or `echo` or `hear` a file of 16-bit samples at 16 kHz
//   PACE  multiples of real time at which audio comes down

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Client } from "@legato/client";

const [url, task, input, pace] = process.argv.slice(2);

const came = { resumes: 0, connections: 0, states: [], samples: 0, ends: [], finals: [] };
const hash = createHash("sha256");

const client = new Client({
  url,
  onState: (state) => came.states.push(state),
  onTraffic: ({ connection }) => {
    came.connections = connection;
  },
});

const end = (outcome) => {
  Object.assign(came, outcome);
  client.close();
};

process.on("exit", () => {
  console.log(JSON.stringify({ ...came, sha256: hash.digest("hex") }));
});

const handlers = {
  sampleRate: 16000,
  onAudio: ({ pcm, sample }) => {
    if (sample !== came.samples) {
      end({ failure: `sample ${sample} came where ${came.samples} was due` });
    }
    came.samples += pcm.length;
    hash.update(new Uint8Array(pcm.buffer));
  },
  onUtteranceEnd: ({ reason }) => came.ends.push(reason),
  onTranscript: ({ kind, text }) => kind === "final" && came.finals.push(text),
  onResumed: () => {
    came.resumes += 1;
  },
  onEnd: ({ frames, verified, digest, up }) => end({ frames, verified, digest, up }),
  onFailure: ({ code, message }) => end({ failure: `${code}: ${message}` }),
};

const tasks = {
  speak: () => {
    const speech = client.synthesize(handlers);
    speech.pace(Number(pace));
    speech.say(input);
    speech.end();
  },
  echo: () => send(client.echo(handlers)),
  hear: () => send(client.recognize(handlers)),
};

function send(stream) {
  stream.pace(Number(pace));
  const data = readFileSync(input);
  stream.send(new Int16Array(data.buffer, data.byteOffset, data.length / 2));
  stream.end();
}

tasks[task]();
