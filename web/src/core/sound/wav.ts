/** WAV files (RIFF, PCM of 16 bits, one channel), and the rate that a file of audio says it has. */

const HEADER_BYTES = 44;
/** RIFF counts bytes in 32 bits, of which its own header takes 36. */
const MOST_BYTES = 0xffff_ffff - 36;

/**
 * The bytes of a WAV file.
 *
 * @param pieces Samples in order, at `sampleRate` Hz.
 * @throws RangeError beyond 4 GiB, which the format cannot count.
 */
export function wavBytes(
  pieces: readonly Int16Array[],
  sampleRate: number,
): Uint8Array<ArrayBuffer> {
  const samples = pieces.reduce((sum, { length }) => sum + length, 0);
  const size = samples * 2;
  if (size > MOST_BYTES) throw new RangeError(`${size} bytes are too many for a WAV file`);
  const bytes = new Uint8Array(HEADER_BYTES + size);
  const view = new DataView(bytes.buffer);
  const tags: readonly [number, string][] = [
    [0, "RIFF"],
    [8, "WAVE"],
    [12, "fmt "],
    [36, "data"],
  ];
  for (const [at, tag] of tags) {
    for (let index = 0; index < 4; index += 1) bytes[at + index] = tag.charCodeAt(index);
  }
  view.setUint32(4, 36 + size, true);
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  view.setUint32(40, size, true);
  let at = HEADER_BYTES;
  for (const piece of pieces) {
    for (const value of piece) {
      view.setInt16(at, value, true);
      at += 2;
    }
  }
  return bytes;
}

/** A WAV file to download. */
export function wavBlob(pieces: readonly Int16Array[], sampleRate: number): Blob {
  return new Blob([wavBytes(pieces, sampleRate)], { type: "audio/wav" });
}

/** Hz that a WAV or FLAC file says it has; null for other files, which a browser has to open. */
export function fileRate(bytes: Uint8Array): number | null {
  const format = chunkOf(bytes, "fmt ");
  if (format && format.byteLength >= 8) return format.getUint32(4, true) || null;
  if (tagAt(bytes, 0) !== "fLaC" || bytes.length < 21) return null;
  // STREAMINFO is the first block (RFC 9639, 8.2): its rate is 20 bits, 10 bytes into the block.
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(18) >>> 12 || null;
}

/**
 * The samples of a WAV file with PCM of 16 bits, as they are; several channels become their mean.
 *
 * Browsers read them through floats with another scale for positive values, up to 1 off.
 *
 * @returns null for other files, which a browser has to open.
 */
export function readWav(bytes: Uint8Array): { pcm: Int16Array; sampleRate: number } | null {
  const format = chunkOf(bytes, "fmt ");
  const data = chunkOf(bytes, "data");
  if (!format || !data || format.byteLength < 16 || data.byteLength < 2) return null;
  const channels = format.getUint16(2, true);
  const sampleRate = format.getUint32(4, true);
  const isPlain = format.getUint16(0, true) === 1 && format.getUint16(14, true) === 16;
  if (!isPlain || channels === 0 || sampleRate === 0) return null;
  const pcm = new Int16Array(Math.floor(data.byteLength / 2 / channels));
  for (let at = 0; at < pcm.length; at += 1) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1) {
      sum += data.getInt16((at * channels + channel) * 2, true);
    }
    pcm[at] = Math.round(sum / channels);
  }
  return { pcm, sampleRate };
}

/** The content of a chunk of a WAV file; of one that says to be longer than the file, the rest. */
function chunkOf(bytes: Uint8Array, tag: string): DataView | null {
  if (tagAt(bytes, 0) !== "RIFF" || tagAt(bytes, 8) !== "WAVE") return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 12;
  while (at + 8 <= bytes.length) {
    const size = view.getUint32(at + 4, true);
    const content = at + 8;
    if (tagAt(bytes, at) === tag) {
      const length = Math.min(size, bytes.length - content);
      return new DataView(bytes.buffer, bytes.byteOffset + content, length);
    }
    at = content + size + (size % 2);
  }
  return null;
}

function tagAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}
