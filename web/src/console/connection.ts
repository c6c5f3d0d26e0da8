/** The page's client, and what its connection is doing. */

import { signal } from "@preact/signals";
import type { LinkState } from "../core/api.ts";
import { Client } from "../core/client.ts";
import { disconnected, observe } from "./breaks.ts";
import { note } from "./journal.ts";
import { histories, now, roundTrip } from "./measures.ts";
import { addressOf } from "./server.ts";

export const link = signal<LinkState>("connecting");

/** One client for the page: both tasks share its connection. */
export const client: Client = new Client({
  url: addressOf("v1/stream").href,
  onState: (state) => {
    link.value = state;
    if (state !== "open") disconnected();
    keepTrying(state);
  },
  onTraffic: (traffic) => {
    note(traffic);
    observe(traffic);
  },
  onRoundTrip: (seconds) => {
    roundTrip.value = seconds;
    histories.roundTrip.push(now(), seconds);
  },
});

/** Seconds between two attempts of a page that waits; each is twice as long as the last. */
const WAIT = { first: 1, most: 15 } as const;
let wait: number = WAIT.first;

/** An idle client lets go of a lost connection; a page that is looked at wants one. */
function keepTrying(state: LinkState): void {
  if (state === "open") wait = WAIT.first;
  if (state !== "closed") return;
  setTimeout(() => client.connect(), wait * 1000);
  wait = Math.min(2 * wait, WAIT.most);
}
