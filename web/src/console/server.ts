/** Questions to the server that the page came from. */

import { LegatoError } from "../core/failure.ts";

/** What went wrong with a question, for a person. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export type Answer<T> = { readonly value: T } | { readonly failure: Refusal };

/** The address of `path` beside the page, so that it works below any path of a proxy. */
export function addressOf(path: string): URL {
  return new URL(path, document.baseURI);
}

/** The page's address without its file and fragment. */
export function base(): string {
  return addressOf(".").href.replace(/\/$/, "");
}

/** What `ask` answers; what the server or the network refuses is an answer too. */
export async function answered<T>(ask: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await ask() };
  } catch (error) {
    if (error instanceof LegatoError) return { failure: error };
    // `fetch` throws these for a network that fails and an answer that takes too long.
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
    return { failure: { code: "connection_lost", message: error.message } };
  }
}

/** Seconds that an answer may take. */
const TIMEOUT = 5;

/** GET what is at `path`, or POST `body` to it as JSON. */
export function ask<T>(path: string, body?: unknown): Promise<Answer<T>> {
  const posted = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return answered(async () => {
    const response = await fetch(addressOf(path), {
      ...(body === undefined ? {} : posted),
      signal: AbortSignal.timeout(TIMEOUT * 1000),
    });
    const told = await response.json().catch(unreadable);
    if (response.ok) return told as T;
    const { code = "unknown", message = response.statusText } = told.error ?? {};
    throw new LegatoError(String(code), String(message));
  });
}

/** A body that is no JSON says nothing more than its status. */
function unreadable(error: unknown): { error?: Partial<Refusal> } {
  if (error instanceof SyntaxError) return {};
  throw error;
}
