/** Control messages as text on the wire: JSON in, checked messages out, and back. */

import { MAX_MESSAGE_BYTES, SHAPES } from "./declarations.ts";
import { LegatoError, malformed } from "./failure.ts";
import { isObject, readShape } from "./fields.ts";
import type { ClientMessage, ServerMessage } from "./messages.ts";

const SHOWN_CHARS = 64;

/** UTF-16 units that never take more than the largest message: 3 bytes each. */
const SURELY_SMALL = Math.floor(MAX_MESSAGE_BYTES / 3);

/** Read a text message from a server; fails with a protocol error only. */
export function decodeServer(text: string): ServerMessage {
  checkSize(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed("message is not JSON", error);
  }
  if (!isObject(value)) {
    throw malformed("message is not an object");
  }
  const type = value.type;
  if (typeof type !== "string") {
    throw malformed("message has no `type`");
  }
  // Shapes of objects inside messages begin with a capital letter.
  if (!Object.hasOwn(SHAPES, type) || /^[A-Z]/.test(type)) {
    const shown = JSON.stringify(type.slice(0, SHOWN_CHARS));
    throw new LegatoError("unexpected_message", `a server sends no message of type ${shown}`);
  }
  // The shapes and the types are made from the same declarations.
  return { type, ...readShape(type, value, "$") } as unknown as ServerMessage;
}

/** Write a message as it goes over the wire. */
export function encode(message: ClientMessage): string {
  const text = JSON.stringify(message);
  checkSize(text);
  return text;
}

function checkSize(text: string): void {
  if (text.length <= SURELY_SMALL) {
    return;
  }
  const sizeBytes = new TextEncoder().encode(text).length;
  if (sizeBytes > MAX_MESSAGE_BYTES) {
    throw new LegatoError(
      "message_too_large",
      `message of ${sizeBytes} bytes is above the limit of ${MAX_MESSAGE_BYTES}`,
    );
  }
}
