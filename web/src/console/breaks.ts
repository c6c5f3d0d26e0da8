/** Breaking this page's own connection, where the server allows it. */

import { computed, signal } from "@preact/signals";
import type { Traffic } from "../core/api.ts";
import { countBreak } from "./measures.ts";
import { type Answer, ask, type Refusal } from "./server.ts";

export const PROFILES = ["none", "good", "lossy", "very_bad", "3g"] as const;
export type Profile = (typeof PROFILES)[number];

export type Break =
  | { readonly action: "cut" }
  | { readonly action: "freeze"; readonly seconds: number }
  | { readonly action: "network"; readonly profile: Profile };

interface Impairment {
  readonly impairment: { readonly action: string; readonly profile: Profile };
}

interface Permission {
  readonly impairment: { readonly allowed: boolean };
}

/** What the latest welcome said: a page may break the connection that it holds the token of. */
const session = signal<{ readonly id: string; readonly token: string } | undefined>(undefined);
/** Undefined until the server was asked. */
const allowed = signal<boolean | undefined>(undefined);
/** The network that the connection has been given. */
export const profile = signal<Profile>("none");
export const refusal = signal<Refusal | undefined>(undefined);
/** What was done to the connection and is not over. */
export const underWay = signal<"cut" | "freeze" | undefined>(undefined);

export const standing = computed<"unknown" | "disabled" | "ready">(() => {
  if (allowed.value === false) return "disabled";
  return session.value && allowed.value ? "ready" : "unknown";
});

/** Learn the session's name and token from `traffic`; a new connection is whole. */
export function observe(traffic: Traffic): void {
  const message = traffic.message;
  if (message?.type !== "welcome") return;
  session.value = { id: message.session_id, token: message.resume_token };
  profile.value = "none";
  underWay.value = undefined;
  void learn();
}

/** Ask at each welcome: a page may outlive its server, and the next one may have other settings. */
async function learn(): Promise<void> {
  const answer = await ask<Permission>(path());
  if ("value" in answer) allowed.value = answer.value.impairment.allowed;
  // A server without this address.
  else if (answer.failure.code === "unknown") allowed.value = false;
}

function path(): string {
  return `v1/sessions/${encodeURIComponent(session.value?.id ?? "")}/impairment`;
}

/** The connection is gone: there is nothing to break until the next welcome. */
export function disconnected(): void {
  session.value = undefined;
}

/** Break the connection so. */
export async function breakIt(how: Break): Promise<void> {
  const answer = await order(how);
  refusal.value = "failure" in answer ? answer.failure : undefined;
  if ("failure" in answer) return;
  note(how);
  if (how.action === "network") profile.value = answer.value.impairment.profile;
  if (how.action !== "network" || how.profile !== "none") countBreak();
}

let thaw: ReturnType<typeof setTimeout> | undefined;

/** A cut is over at the next welcome, a freeze after its time. */
function note(how: Break): void {
  if (how.action === "network") return;
  underWay.value = how.action;
  if (how.action === "cut") return;
  clearTimeout(thaw);
  thaw = setTimeout(() => {
    if (underWay.value === "freeze") underWay.value = undefined;
  }, how.seconds * 1000);
}

/** Sockets of a browser may lead to another process than the stream's, so a few are tried. */
const ATTEMPTS = 4;

async function order(how: Break): Promise<Answer<Impairment>> {
  let answer: Answer<Impairment> = { failure: { code: "unknown_session", message: "" } };
  for (let attempt = 0; attempt < ATTEMPTS && isElsewhere(answer); attempt += 1) {
    if (!session.value) break;
    const { token } = session.value;
    answer = await ask<Impairment>(path(), { token, ...how });
  }
  return answer;
}

function isElsewhere(answer: Answer<Impairment>): boolean {
  return "failure" in answer && answer.failure.code === "unknown_session";
}
