/** What a connection is made with. */

import type { LinkState, Traffic } from "./api.ts";
import type { Dial } from "./dialing.ts";
import type { Profile } from "./flow/backoff.ts";
import type { Hello } from "./messages.ts";

export interface ConnectionOptions {
  readonly dial: Dial;
  readonly hello: () => Hello;
  /** Absent: a lost connection is the end of its streams. */
  readonly profile: Profile | undefined;
  readonly connectTimeout: number;
  readonly now: () => number;
  readonly onState: (state: LinkState) => void;
  /** The number of a new socket, from 1. */
  readonly count: () => number;
  readonly onTraffic?: ((traffic: Traffic) => void) | undefined;
  readonly onRoundTrip?: ((seconds: number) => void) | undefined;
}
