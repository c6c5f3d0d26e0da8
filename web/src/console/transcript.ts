/** What was heard: segments that stay, and the one that may still change. */

/** A word with its times in seconds from the stream's start. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly confidence?: number;
}

export interface Segment {
  readonly key: number;
  readonly text: string;
  /** Seconds from the stream's start. */
  readonly start: number;
  readonly end: number;
  readonly words: readonly Word[];
  readonly confidence?: number;
}

export interface Heard {
  readonly finals: readonly Segment[];
  readonly partial?: Segment;
  /** Key of the next segment; a partial keeps its key when it becomes final. */
  readonly next: number;
  /** Finals that were dropped to stay within {@link SEGMENTS}. */
  readonly dropped: number;
}

/** How many finals are kept, so that a page that listens for days does not grow. */
export const SEGMENTS = 2000;
export const NOTHING: Heard = { finals: [], next: 0, dropped: 0 };

export interface Told {
  readonly kind: "partial" | "final";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly words?: readonly Word[];
  readonly confidence?: number;
}

/** `heard` after a transcript; its positions are samples at `rateHz`. */
export function hear(heard: Heard, told: Told, rateHz: number, offset = 0): Heard {
  const segment: Segment = {
    key: heard.next,
    text: told.text,
    start: offset + told.start / rateHz,
    end: offset + told.end / rateHz,
    words: (told.words ?? []).map((word) => ({
      ...word,
      start: offset + word.start,
      end: offset + word.end,
    })),
    ...(told.confidence === undefined ? {} : { confidence: told.confidence }),
  };
  if (told.kind === "partial") return { ...heard, partial: segment };
  const { partial: _, ...rest } = heard;
  if (!told.text.trim()) return rest;
  const finals = [...heard.finals, segment];
  const surplus = Math.max(0, finals.length - SEGMENTS);
  return {
    finals: surplus ? finals.slice(surplus) : finals,
    next: heard.next + 1,
    dropped: heard.dropped + surplus,
  };
}

/** How sure the engine is, in three steps that type can show; undefined where it does not say. */
export function certainty(confidence: number | undefined): "high" | "middle" | "low" | undefined {
  if (confidence === undefined) return undefined;
  if (confidence >= 0.85) return "high";
  return confidence >= 0.6 ? "middle" : "low";
}

/** All finals as text, a line each. */
export function plain(finals: readonly Segment[]): string {
  return finals.map((segment) => segment.text).join("\n");
}
