/** What a server answers over HTTP. */

import type { Engine, Voice } from "./api.ts";
import { LegatoError } from "./failure.ts";
import { isObject } from "./fields.ts";

/** Seconds that an answer may take. */
const TIMEOUT = 10;

/** Read a JSON object; fails with what the server says is wrong, or `connection_lost`. */
export async function readResource(
  url: string,
  auth: string | undefined,
): Promise<Record<string, unknown>> {
  const headers: Record<string, string> = auth ? { Authorization: `Bearer ${auth}` } : {};
  let answer: unknown;
  let status: number;
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT * 1000) });
    status = response.status;
    answer = await response.json();
  } catch (cause) {
    throw new LegatoError("connection_lost", `${url} cannot be read (${cause})`, { cause });
  }
  if (isObject(answer) && isObject(answer.error)) {
    throw new LegatoError(String(answer.error.code), String(answer.error.message), {
      remote: true,
    });
  }
  if (status !== 200 || !isObject(answer)) {
    throw new LegatoError("connection_lost", `${url} is not from a Legato server (${status})`);
  }
  return answer;
}

/** The voices in an answer; the server leaves out what is empty. */
export function readVoices(answer: Record<string, unknown>): Voice[] {
  return listed(answer.voices).map((facts) => ({
    ...(facts as unknown as Voice),
    languages: (facts.languages ?? []) as string[],
  }));
}

/** The engines in an answer; the server leaves out what is empty. */
export function readEngines(answer: Record<string, unknown>): Engine[] {
  return listed(answer.engines).map((facts) => ({
    state: "loading",
    default: false,
    version: "",
    slots: 0,
    deterministic: false,
    ...(facts as unknown as Partial<Engine> & Pick<Engine, "kind" | "name">),
    languages: (facts.languages ?? []) as string[],
    voices: readVoices(facts),
  }));
}

function listed(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
