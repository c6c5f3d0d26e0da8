/** A stream between its connection and its application. */

import type { LegatoError } from "./failure.ts";
import type { Notice, StreamEnd, StreamStarted } from "./messages.ts";
import type { Item } from "./session/lane.ts";
import type { Stream } from "./session/stream.ts";

/** A stream as a connection sees it: what it is told. */
export interface Channel {
  readonly stream: Stream;
  opened(started: StreamStarted): void;
  received(items: readonly Item[]): void;
  recovering(): void;
  recovered(): void;
  noticed(notice: Notice): void;
  finished(end: StreamEnd, intact: boolean): void;
  failed(error: LegatoError): void;
}
