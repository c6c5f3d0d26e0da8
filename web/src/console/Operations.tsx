/** What runs behind the page: gateways, workers, leases, depths, memory. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Cluster, Lease, Node } from "../core/api.ts";
import { Chart } from "./Chart.tsx";
import {
  cluster,
  depth,
  type EngineLoad,
  KEPT,
  memory,
  memoryOf,
  refusal,
  watch,
} from "./cluster.ts";
import { Figures } from "./Figure.tsx";
import { bytes, count, duration, type Figure, spoken } from "./figures.ts";
import { isKey, type Key, t } from "./language.ts";
import { now } from "./measures.ts";

export function Operations() {
  useEffect(watch, []);
  const told = cluster.value;
  const failed = refusal.value;
  return (
    <div class="tables">
      <h1 class="hidden">{t("operations.title")}</h1>
      <p role="status" class={failed ? "state wrong" : "hidden"}>
        {failed ? t("operations.failed", { message: failed.message }) : ""}
      </p>
      {told ? <Tables {...told} /> : <p class="hint">{failed ? "" : t("operations.asking")}</p>}
    </div>
  );
}

function Tables(told: Cluster) {
  return (
    <>
      <Curves told={told} />
      <Processes title="operations.gateways" rows={told.gateways} />
      <Processes title="operations.workers" rows={told.workers} />
      <Engines workers={told.workers} waiting={told.waiting} />
      <Leases rows={told.leases} held={told.held} />
    </>
  );
}

function Curves({ told }: { told: Cluster }) {
  const known = memoryOf(told) !== undefined;
  const memoryName = t("operations.memory");
  return (
    <div class="curves">
      <section>
        <h2>{memoryName}</h2>
        {known ? (
          <Chart
            label={memoryName}
            lines={[{ colour: "--live", points: () => memory.points }]}
            now={now}
            axes
            span={KEPT}
            every={2}
            format={(size) => spoken(bytes(size))}
          />
        ) : (
          <p class="hint">{t("operations.no_memory")}</p>
        )}
      </section>
      <section>
        <h2>{t("operations.waiting")}</h2>
        <Chart
          label={t("operations.waiting")}
          lines={[{ colour: "--live", points: () => depth.points }]}
          now={now}
          axes
          span={KEPT}
          every={2}
        />
      </section>
    </div>
  );
}

/** A column: its heading, and what stands in it for a row. */
interface Column<Row> {
  readonly title: Key;
  readonly cell: (row: Row) => ComponentChildren;
  readonly figure?: boolean;
}

interface TableProps<Row> {
  readonly title: Key;
  readonly note?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

function Table<Row>({ title, note, columns, rows, keyOf }: TableProps<Row>) {
  const style = (column: Column<Row>) => (column.figure ? "figure" : undefined);
  return (
    <table>
      <caption>
        {t(title)} {note ? <span class="hint">{note}</span> : null}
      </caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" class={style(column)}>
              {t(column.title)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.title} class={style(column)} data-label={t(column.title)}>
                <span>{column.cell(row)}</span>
              </td>
            ))}
          </tr>
        ))}
        {rows.length ? null : (
          <tr>
            <td colSpan={columns.length}>{t("operations.none")}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function figure(value: number | null | undefined, format: (value: number) => Figure) {
  return <Figures figure={value == null ? undefined : format(value)} />;
}

function stateOf(state: string): string {
  const key = `operations.state.${state}`;
  return isKey(key) ? t(key) : state;
}

const PROCESS: readonly Column<Node>[] = [
  { title: "operations.name", cell: ({ name }) => name },
  { title: "operations.state", cell: ({ state }) => stateOf(state) },
  { title: "operations.version", cell: ({ version }) => version },
  {
    title: "operations.uptime",
    cell: ({ started }) => figure(Math.max(0, Date.now() / 1000 - started), duration),
    figure: true,
  },
  {
    title: "operations.lag",
    cell: ({ loop_lag: lag }) => figure(lag, duration),
    figure: true,
  },
  { title: "operations.streams", cell: ({ streams }) => figure(streams, count), figure: true },
  {
    title: "operations.connections",
    cell: ({ connections }) => figure(connections, count),
    figure: true,
  },
  {
    title: "operations.memory",
    cell: ({ memory_bytes: size }) => figure(size, bytes),
    figure: true,
  },
];

function Processes({ title, rows }: { title: Key; rows: readonly Node[] }) {
  return <Table title={title} columns={PROCESS} rows={rows} keyOf={({ name }) => name} />;
}

interface EngineRow extends EngineLoad {
  readonly worker: string;
  readonly depth: number | undefined;
}

const ENGINE: readonly Column<EngineRow>[] = [
  {
    title: "operations.engine",
    cell: ({ kind, name }) => `${name} · ${t(kind === "synthesize" ? "nav.speak" : "nav.listen")}`,
  },
  { title: "operations.worker", cell: ({ worker }) => worker },
  { title: "operations.state", cell: ({ state }) => stateOf(state) },
  {
    title: "operations.streams",
    cell: ({ busy, slots }) => `${busy} / ${slots}`,
    figure: true,
  },
  {
    title: "operations.waiting",
    cell: ({ depth: waits = 0 }) => figure(waits, count),
    figure: true,
  },
];

function Engines({ workers, waiting }: Pick<Cluster, "workers" | "waiting">) {
  const rows = workers.flatMap(({ name, engines }) =>
    engines.map((engine) => ({ ...engine, worker: name, depth: waiting[engine.name] })),
  );
  return (
    <Table
      title="operations.engines"
      columns={ENGINE}
      rows={rows}
      keyOf={({ worker, kind, name }) => `${worker}/${kind}/${name}`}
    />
  );
}

const LEASE: readonly Column<Lease>[] = [
  { title: "operations.stream", cell: ({ stream_id: id }) => id },
  { title: "operations.engine", cell: ({ engine }) => engine },
  { title: "operations.worker", cell: ({ worker }) => worker },
  { title: "operations.age", cell: ({ age }) => figure(age, duration), figure: true },
  {
    title: "operations.deliveries",
    cell: ({ deliveries }) => figure(deliveries, count),
    figure: true,
  },
];

function Leases({ rows, held }: { rows: readonly Lease[]; held: number }) {
  return (
    <Table
      title="operations.leases"
      note={t("operations.held", { held })}
      columns={LEASE}
      rows={rows}
      keyOf={({ tenant, stream_id: id }) => `${tenant}/${id}`}
    />
  );
}
