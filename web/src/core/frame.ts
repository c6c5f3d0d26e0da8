/** Audio on the wire: the seven fields of the protobuf message `AudioChunk`, by hand. */

import { MAX_POSITION } from "./declarations.ts";
import { malformed } from "./failure.ts";

/** `AudioFrame.seq` of a frame whose number is given when it is sent. */
export const UNNUMBERED = -1;

/** A payload and its place. */
export class AudioFrame {
  /** Coded audio: PCM s16le. */
  payload: Uint8Array;
  /** Place in its direction's history, from 0. */
  seq: number;
  /** Whether the utterance ends with this frame. */
  last: boolean;
  /** The stream's number on the connection. */
  stream: number;
  /** Position of the first sample. */
  sample: number;
  /** Incarnation of the history. */
  epoch: number;
  /** Number of the utterance. */
  utterance: number;

  constructor(payload: Uint8Array, fields: Partial<Omit<AudioFrame, "payload">> = {}) {
    this.payload = payload;
    this.seq = fields.seq ?? 0;
    this.last = fields.last ?? false;
    this.stream = fields.stream ?? 0;
    this.sample = fields.sample ?? 0;
    this.epoch = fields.epoch ?? 0;
    this.utterance = fields.utterance ?? 0;
  }
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** Bytes of all fields but the payload, at the most. */
const HEAD_BYTES = 64;

const MAX_DEPTH = 100;
const MAX_SIZE = 0x7fff_ffff;

/** Code a frame. */
export function encodeFrame(frame: AudioFrame): Uint8Array<ArrayBuffer> {
  const payload = frame.payload;
  const data = new Uint8Array(payload.length + HEAD_BYTES);
  let end = 0;
  const put = (value: number): void => {
    let rest = value;
    while (rest > 0x7f) {
      data[end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    data[end++] = rest;
  };
  const field = (number: number, value: number): void => {
    if (value) {
      put(number << 3);
      put(value);
    }
  };
  if (payload.length) {
    put((1 << 3) | BYTES);
    put(payload.length);
    data.set(payload, end);
    end += payload.length;
  }
  field(2, frame.seq);
  field(3, Number(frame.last));
  field(4, frame.stream);
  field(5, frame.sample);
  field(6, frame.epoch);
  field(7, frame.utterance);
  return data.subarray(0, end);
}

/** Read a binary message; the payload is a view of it. Fails with `malformed_message` only. */
export function decodeFrame(data: Uint8Array): AudioFrame {
  return new Reader(data).frame();
}

/** Reads protobuf as google's library does. */
class Reader {
  readonly #data: Uint8Array;
  #at = 0;
  /** The two halves of the varint that was read last. */
  #low = 0;
  #high = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  frame(): AudioFrame {
    const frame = new AudioFrame(new Uint8Array(0));
    while (this.#at < this.#data.length) {
      const tag = this.#tag();
      const field = tag >>> 3;
      if (field === 1 && (tag & 7) === BYTES) {
        frame.payload = this.#bytes();
      } else if (field >= 2 && field <= 7 && (tag & 7) === VARINT) {
        this.#varint(10);
        this.#place(frame, field);
      } else {
        this.#skip(tag, 0);
      }
    }
    if (frame.sample > MAX_POSITION) {
      throw malformed(`sample ${frame.sample} is not below 2^53`);
    }
    return frame;
  }

  #place(frame: AudioFrame, field: number): void {
    switch (field) {
      case 2:
        frame.seq = this.#low;
        break;
      case 3:
        frame.last = (this.#low | this.#high) !== 0;
        break;
      case 4:
        frame.stream = this.#low;
        break;
      case 5:
        frame.sample = this.#high * 0x1_0000_0000 + this.#low;
        break;
      case 6:
        frame.epoch = this.#low;
        break;
      default:
        frame.utterance = this.#low;
    }
  }

  #tag(): number {
    this.#varint(5);
    if (this.#high || this.#low >>> 3 === 0) {
      throw malformedFrame();
    }
    return this.#low;
  }

  #varint(most: number): void {
    let low = 0;
    let high = 0;
    for (let index = 0; index < most; index++) {
      const byte = this.#data[this.#at++];
      if (byte === undefined) {
        break;
      }
      const bits = byte & 0x7f;
      if (index < 4) {
        low |= bits << (7 * index);
      } else if (index === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else {
        high |= bits << (7 * index - 32);
      }
      if (byte < 0x80) {
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        return;
      }
    }
    throw malformedFrame();
  }

  #bytes(): Uint8Array {
    this.#varint(5);
    const start = this.#at;
    if (this.#high || this.#low > MAX_SIZE) {
      throw malformedFrame();
    }
    this.#jump(this.#low);
    return this.#data.subarray(start, this.#at);
  }

  #jump(size: number): void {
    if (size > this.#data.length - this.#at) {
      throw malformedFrame();
    }
    this.#at += size;
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case VARINT:
        this.#varint(10);
        break;
      case FIXED64:
        this.#jump(8);
        break;
      case BYTES:
        this.#bytes();
        break;
      case FIXED32:
        this.#jump(4);
        break;
      case GROUP:
        this.#skipGroup(tag, depth + 1);
        break;
      default:
        throw malformedFrame();
    }
  }

  #skipGroup(tag: number, depth: number): void {
    if (depth >= MAX_DEPTH) {
      throw malformedFrame();
    }
    for (let inner = this.#tag(); ; inner = this.#tag()) {
      if ((inner & 7) === END_GROUP) {
        if (inner >>> 3 !== tag >>> 3) {
          throw malformedFrame();
        }
        return;
      }
      this.#skip(inner, depth);
    }
  }
}

function malformedFrame(): Error {
  return malformed("binary message is not a protobuf AudioChunk");
}
