/** The log: what went up and came down. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { jsonLines, matches, type Row } from "./events.ts";
import { bytes, count, spoken } from "./figures.ts";
import { save } from "./files.ts";
import { Icon } from "./Icon.tsx";
import { clearLog, shown } from "./journal.ts";
import { t } from "./language.ts";

const filter = signal("");
const expanded = signal<ReadonlySet<number>>(new Set());

/** How many rows are in the document at once. */
const VISIBLE = 300;
/** CSS pixels from the end within which the log goes on following. */
const NEAR = 24;

/** The newest rows in one line, for the closed drawer. */
export function Glance() {
  const rows = shown.value.rows.slice(-4);
  return (
    <div class="glance" aria-hidden="true">
      {rows.map((row) => (
        <span key={row.key}>
          {arrow(row)} {title(row)}
        </span>
      ))}
    </div>
  );
}

export function EventTools() {
  const { rows } = shown.value;
  return (
    <div class="drawer-tools">
      <input
        type="search"
        aria-label={t("events.filter.label")}
        placeholder={t("events.filter")}
        value={filter.value}
        onInput={(event) => {
          filter.value = event.currentTarget.value;
        }}
      />
      <button type="button" class="quiet" disabled={!rows.length} onClick={clearLog}>
        {t("events.clear")}
      </button>
      <button
        type="button"
        class="quiet"
        disabled={!rows.length}
        title={t("events.export.label")}
        onClick={() => save("events.jsonl", jsonLines(rows), "application/jsonl")}
      >
        <Icon name="save" /> {t("events.export")}
      </button>
    </div>
  );
}

export function Events() {
  const box = useRef<HTMLElement>(null);
  const follow = useRef(true);
  const { dropped } = shown.value;
  const rows = shown.value.rows.filter((row) => matches(row, filter.value)).slice(-VISIBLE);
  useLayoutEffect(() => {
    const place = box.current;
    if (place && follow.current) place.scrollTop = place.scrollHeight;
  });
  const scroll = (event: Event) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget as HTMLElement;
    follow.current = scrollHeight - scrollTop - clientHeight < NEAR;
  };
  return (
    <section class="drawer-body" ref={box} onScroll={scroll} aria-label={t("events.list")}>
      {dropped ? <p class="hint">{t("events.dropped", { count: dropped })}</p> : null}
      {rows.length ? null : <p class="hint">{t("events.empty")}</p>}
      <ol class="events">
        {rows.map((row) => (
          <Item key={row.key} row={row} />
        ))}
      </ol>
    </section>
  );
}

function Item({ row }: { row: Row }) {
  const open = expanded.value.has(row.key);
  const press = () => {
    const keys = new Set(expanded.value);
    if (!keys.delete(row.key)) keys.add(row.key);
    expanded.value = keys;
  };
  const bad = row.kind.startsWith("error") || row.kind.endsWith("failed");
  return (
    <li>
      <button type="button" aria-expanded={open} onClick={press}>
        <span class="at">{row.at.toFixed(3)}</span>
        <span class={row.direction} role="img" aria-label={t(`events.${row.direction}`)}>
          {arrow(row)}
        </span>
        <span class={bad ? "what bad" : "what"}>
          {title(row)} <span class="detail">{detail(row)}</span>
        </span>
        <span class="size">{spoken(bytes(row.sizeBytes))}</span>
      </button>
      {open ? <pre>{json(row)}</pre> : null}
    </li>
  );
}

function arrow(row: Row): string {
  return row.direction === "up" ? "↑" : "↓";
}

function title(row: Row): string {
  if (row.kind === "text") return `text ${t("events.words", { count: row.words })}`;
  return row.count > 1 ? `${row.kind} ×${spoken(count(row.count))}` : row.kind;
}

/** What tells one row from another at a glance. */
function detail(row: Row): string {
  const message = row.newest as Readonly<Record<string, unknown>>;
  const told = ["text", "message", "engine", "code"].map((name) => message[name]);
  return told.filter((value) => typeof value === "string" && value).join(" · ");
}

function json(row: Row): string {
  if (row.count === 1) return JSON.stringify(row.newest, null, 2);
  return JSON.stringify({ count: row.count, first: row.first, newest: row.newest }, null, 2);
}
