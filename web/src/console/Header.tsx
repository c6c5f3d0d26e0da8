/** Where one is, whether there is a connection, and how the page looks. */

import { change, settings } from "./address.ts";
import { underWay } from "./breaks.ts";
import { link } from "./connection.ts";
import { duration } from "./figures.ts";
import { Icon } from "./Icon.tsx";
import { keysShown } from "./Keys.tsx";
import { choose, isMissing, language, t } from "./language.ts";
import { roundTrip } from "./measures.ts";
import { type Page, writeSettings } from "./settings.ts";
import { nextTheme, theme } from "./theme.ts";

const PAGES: readonly Page[] = ["speak", "listen", "operations"];

export function Header() {
  const { page } = settings.value;
  return (
    <header class="head">
      <a class="brand" href={writeSettings({ ...settings.value, page: "speak" })}>
        legato
      </a>
      <nav class="nav" aria-label={t("nav.label")}>
        {PAGES.map((name) => (
          <a
            key={name}
            href={writeSettings({ ...settings.value, page: name })}
            aria-current={name === page ? "page" : undefined}
          >
            {t(`nav.${name}`)}
          </a>
        ))}
      </nav>
      <div class="tools">
        <span role="alert" class="hint">
          {isMissing.value ? t("part.missing") : ""}
        </span>
        <Link />
        <button
          type="button"
          class="quiet"
          aria-label={t("keys.open")}
          title={t("keys.open")}
          onClick={() => {
            keysShown.value = true;
          }}
        >
          <Icon name="question" />
        </button>
        <LanguageSwitch />
        <ThemeSwitch />
      </div>
    </header>
  );
}

function Link() {
  const state = link.value;
  const trip = roundTrip.value;
  const passes = state === "open" && underWay.value !== "freeze";
  const figure = passes && trip !== undefined ? duration(trip) : undefined;
  return (
    <span class={`link ${state}`} data-link={state}>
      <span role="status">{t(`link.${state}`)}</span>
      {figure ? (
        <span class="trip">
          {figure.number} {figure.unit}
        </span>
      ) : null}
    </span>
  );
}

function LanguageSwitch() {
  const english = language.value === "en";
  const press = async () => {
    const lang = english ? "zh" : "en";
    if (await choose(lang)) change({ lang });
  };
  return (
    <button
      type="button"
      class="quiet"
      lang={english ? "zh-CN" : "en"}
      aria-label={`${english ? "中" : "EN"} · ${t("language.switch")}`}
      title={t("language.switch")}
      onClick={press}
    >
      {english ? "中" : "EN"}
    </button>
  );
}

function ThemeSwitch() {
  const name = theme.value;
  const press = () => {
    const chosen = nextTheme(name);
    theme.value = chosen;
    change({ theme: chosen === "system" ? undefined : chosen });
  };
  return (
    <button
      type="button"
      class="quiet"
      aria-label={t(`theme.${name}`)}
      title={t(`theme.${name}`)}
      onClick={press}
    >
      <Icon name={name} />
    </button>
  );
}
