/** What was heard: finals in ink, what may still change lighter, in the same place. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { clock } from "./figures.ts";
import { t } from "./language.ts";
import { finals, heard, partial } from "./listening.ts";
import { Tick } from "./Tick.tsx";
import { certainty, SEGMENTS, type Segment, type Word } from "./transcript.ts";

/** Whether each word has its time below it. */
const times = signal(false);

export function Transcript() {
  const hasWords = finals.value.some(({ words }) => words.length > 0);
  return (
    <>
      <div class="lines">
        <Finals />
        <Partial />
      </div>
      {hasWords ? (
        <Tick
          label={t("listen.times")}
          checked={times.value}
          onChange={(on) => {
            times.value = on;
          }}
        />
      ) : null}
    </>
  );
}

/** Readers of the screen hear these, and nothing that may still change. */
function Finals() {
  const { dropped } = heard.peek();
  return (
    <div role="log" aria-label={t("listen.transcript")}>
      {dropped ? <p class="hint">{t("listen.clipped", { count: SEGMENTS })}</p> : null}
      {finals.value.map((segment) => (
        <Line key={segment.key} segment={segment} />
      ))}
    </div>
  );
}

function Partial() {
  const line = useRef<HTMLParagraphElement>(null);
  const segment = partial.value;
  useLayoutEffect(() => line.current?.scrollIntoView({ block: "nearest" }), [segment]);
  if (!segment) return finals.value.length ? null : <p class="hint">{t("listen.empty")}</p>;
  return (
    <p class="partial" aria-hidden="true" ref={line}>
      <time>{clock(segment.start)}</time>
      <span>{segment.text}</span>
    </p>
  );
}

function Line({ segment }: { segment: Segment }) {
  const { words, text, start, confidence } = segment;
  const sure = certainty(confidence);
  // Chinese has no spaces between its words.
  const space = text.includes(" ") ? " " : "";
  return (
    <p class="final" title={saying(confidence)}>
      <time>{clock(start)}</time>
      <span class={sure ? `sure-${sure}` : undefined}>
        {words.length ? words.map((word) => [<Spoken key={word.start} {...word} />, space]) : text}
      </span>
    </p>
  );
}

function Spoken({ text, start, confidence }: Word) {
  const sure = certainty(confidence);
  const title = [clock(start), saying(confidence)].filter(Boolean).join(" · ");
  const word = (
    <span class={sure ? `sure-${sure}` : undefined} title={title}>
      {text}
    </span>
  );
  if (!times.value) return word;
  return (
    <ruby>
      {word}
      <rt>{clock(start)}</rt>
    </ruby>
  );
}

function saying(confidence: number | undefined): string | undefined {
  if (confidence === undefined) return undefined;
  return t("listen.confidence", { value: confidence.toFixed(2) });
}
