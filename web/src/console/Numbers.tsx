/** The narrow column: every number, where the eye already is. */

import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { settings } from "./address.ts";
import { Chart } from "./Chart.tsx";
import { Figures } from "./Figure.tsx";
import { bytes, count, duration, type Figure, length, spoken } from "./figures.ts";
import { Icon } from "./Icon.tsx";
import { type Key, t } from "./language.ts";
import * as measures from "./measures.ts";

type Name =
  | "round_trip"
  | "first_audio"
  | "audible"
  | "partial"
  | "final"
  | "buffer"
  | "stalls"
  | "up"
  | "down"
  | "resumes";

interface Row {
  readonly name: Name;
  readonly value: ReadonlySignal<number | undefined>;
  readonly format: (value: number) => Figure;
}

const ROUND_TRIP: Row = { name: "round_trip", value: measures.roundTrip, format: duration };
const SPEAKING: readonly Row[] = [
  { name: "first_audio", value: measures.firstAudio, format: duration },
  { name: "audible", value: measures.audible, format: duration },
];
const BUFFER: Row = { name: "buffer", value: measures.buffered, format: length };
const STALLS: Row = { name: "stalls", value: measures.stalls, format: count };
const LISTENING: readonly Row[] = [
  { name: "partial", value: measures.partialLatency, format: duration },
  { name: "final", value: measures.finalLatency, format: duration },
];
const TRAFFIC: readonly Row[] = [
  { name: "up", value: measures.bytesUp, format: bytes },
  { name: "down", value: measures.bytesDown, format: bytes },
  { name: "resumes", value: measures.resumes, format: count },
];

export function Numbers() {
  const speaking = settings.value.page === "speak";
  return (
    <section aria-labelledby="numbers-title">
      <h2 id="numbers-title">{t("numbers.title")}</h2>
      <dl class="numbers">
        <Measure {...ROUND_TRIP} />
        {(speaking ? SPEAKING : LISTENING).map((row) => (
          <Measure key={row.name} {...row} />
        ))}
        {speaking ? (
          <Measure {...BUFFER}>
            <BufferChart />
          </Measure>
        ) : null}
        {speaking ? <Measure {...STALLS} /> : null}
        {TRAFFIC.map((row) => (
          <Measure key={row.name} {...row} />
        ))}
        <Lost />
      </dl>
      <LatencyChart key={settings.value.page} speaking={speaking} />
    </section>
  );
}

function Measure({ name, value, format, children }: Row & { children?: ComponentChildren }) {
  const now = value.value;
  return (
    <div>
      <dt title={t(`numbers.${name}.hint`)}>
        <span>{t(`numbers.${name}`)}</span>
        {children}
      </dt>
      <dd class="number" data-number={name}>
        <Figures figure={now === undefined ? undefined : format(now)} />
      </dd>
    </div>
  );
}

function BufferChart() {
  return (
    <Chart
      label={t("numbers.chart.buffer")}
      lines={[{ colour: "--live", points: () => measures.histories.buffer.points }]}
      now={measures.now}
      span={10}
    />
  );
}

const LATENCIES = [
  { key: "numbers.round_trip", colour: "--soft", history: "roundTrip", dashed: true },
  { key: "numbers.partial", colour: "--edge", history: "partial" },
  { key: "numbers.final", colour: "--live", history: "final" },
] as const;

function LatencyChart({ speaking }: { speaking: boolean }) {
  const shown = speaking ? LATENCIES.slice(0, 1) : LATENCIES;
  return (
    <figure class="legend">
      <Chart
        label={t("numbers.chart.latency")}
        axes
        lines={shown.map(({ history, ...look }) => ({
          ...look,
          points: () => measures.histories[history].points,
        }))}
        now={measures.now}
        span={60}
        format={(seconds) => spoken(duration(seconds))}
      />
      <figcaption>
        {shown.map(({ key, colour }) => (
          <span key={key} class={`key ${colour.slice(2)}`}>
            {t(key)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const VERDICTS: Readonly<Record<"pending" | "equal" | "different" | "stopped", Key>> = {
  pending: "lost.pending",
  equal: "lost.equal",
  different: "lost.different",
  stopped: "lost.stopped",
};

/** The badge: it says 0 only when both ends have counted to the end and agree. */
function Lost() {
  const open = useSignal(false);
  const { state, totals, breaks, lost } = measures.comparison.value;
  const number = state === "equal" ? 0 : lost || undefined;
  return (
    <>
      <div>
        <dt title={t("numbers.lost.hint")}>{t("numbers.lost")}</dt>
        <dd class="number" data-number="lost" data-comparison={state}>
          {totals ? (
            <Badge state={state} number={number} open={open} />
          ) : (
            <Figures figure={number === undefined ? undefined : count(number)} />
          )}
        </dd>
      </div>
      <div>
        <dt class="verdict">
          {state === "none" ? null : (
            <span role="status">
              {breaks === 1 ? t("lost.break") : ""}
              {breaks > 1 ? t("lost.breaks", { count: breaks }) : ""} {t(VERDICTS[state])}
            </span>
          )}
        </dt>
        <dd />
      </div>
      {totals && open.value ? <Digests {...totals} /> : null}
    </>
  );
}

interface BadgeProps {
  readonly state: measures.Comparison["state"];
  readonly number: number | undefined;
  readonly open: Signal<boolean>;
}

function Badge({ state, number, open }: BadgeProps) {
  const shown = number ?? "≠";
  const press = () => {
    open.value = !open.value;
  };
  return (
    <button
      type="button"
      class={`badge ${state}`}
      aria-expanded={open.value}
      aria-label={`${shown} ${t("lost.show")}`}
      onClick={press}
    >
      {shown}
      <span class="unit">
        <Icon name={state === "equal" ? "check" : "cross"} />
      </span>
    </button>
  );
}

function Digests({ frames, samples, ours, theirs }: measures.Totals) {
  return (
    <div class="digests">
      <dt>{t("lost.page")}</dt>
      <dd class="digest">{ours}</dd>
      <dt>{t("lost.server")}</dt>
      {theirs ? <dd class="digest">{theirs}</dd> : <dd>{t("lost.checked")}</dd>}
      <dd>{t("lost.frames", { frames, samples })}</dd>
    </div>
  );
}
