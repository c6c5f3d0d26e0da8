/** What a stream may be: the checks of `stream_start` that need no server. */

import { LegatoError, malformed } from "../failure.ts";
import type { StreamStart } from "../messages.ts";

const STREAM_ID = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The only codec here: a page plays samples. Servers have others for other clients. */
const CODEC = "pcm_s16le";

/** What is checked: field, least and most, and the code of the error beyond. */
const BOUNDS = [
  ["sample_rate", 8000, 48_000, "unsupported_format"],
  ["channels", 1, 2, "unsupported_format"],
  ["frame_ms", 10, 200, "unsupported_format"],
  ["speed", 0.5, 2, "malformed_message"],
] as const;

/** The parameters of a stream, with the defaults that this side counts with. */
export function checkStart(
  start: StreamStart,
): StreamStart & { sample_rate: number; channels: number } {
  if (!STREAM_ID.test(start.stream_id)) {
    throw malformed(
      "stream_id must be 1 to 64 of A-Z a-z 0-9 _ . -, begin with a letter or digit and hold no" +
        " two dots in a row",
    );
  }
  if (start.codec !== undefined && start.codec !== CODEC) {
    throw new LegatoError("unsupported_format", `this client speaks ${CODEC}, not ${start.codec}`);
  }
  const full = {
    ...start,
    sample_rate: start.sample_rate ?? 16_000,
    channels: start.channels ?? 1,
  };
  for (const [field, least, most, code] of BOUNDS) {
    const value = full[field];
    if (value !== undefined && !(value >= least && value <= most)) {
      throw new LegatoError(code, `${field} ${value} is outside ${least} to ${most}`);
    }
  }
  return full;
}
