/** The page's client, and what its connection is doing. */

import { signal } from "@preact/signals";
import type { LinkState } from "../core/api.ts";
import { Client } from "../core/client.ts";
import { disconnected, observe } from "./breaks.ts";
import { note } from "./journal.ts";
import { histories, now, roundTrip } from "./measures.ts";

export const link = signal<LinkState>("connecting");

/** One client for the page: both tasks share its connection. */
export const client: Client = new Client({
  onState: (state) => {
    link.value = state;
    if (state !== "open") disconnected();
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
