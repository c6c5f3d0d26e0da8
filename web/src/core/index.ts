/** `@legato/client`: real-time speech from the browser, and from Node. */

export type * from "./api.ts";
export { Client } from "./client.ts";
export { LegatoError } from "./failure.ts";
export type * from "./messages.ts";
