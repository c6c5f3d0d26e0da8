/** Sound in, text out. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { microphones, srt, vtt } from "../core/sound/index.ts";
import { change, settings } from "./address.ts";
import { Choice } from "./Choice.tsx";
import { Copy } from "./Copy.tsx";
import { AUTOMATIC, engineOptions, languageOptions } from "./choices.ts";
import { Fault } from "./Fault.tsx";
import { save } from "./files.ts";
import { Icon } from "./Icon.tsx";
import { LevelMeter } from "./LevelMeter.tsx";
import { t } from "./language.ts";
import {
  clear,
  deviceId,
  fault,
  file,
  finals,
  finish,
  level,
  listen,
  state,
  take,
} from "./listening.ts";
import { isRunning } from "./phases.ts";
import { StateLine } from "./StateLine.tsx";
import type { Source } from "./settings.ts";
import { Tick } from "./Tick.tsx";
import { Transcript } from "./Transcript.tsx";
import { plain } from "./transcript.ts";
import { Waveform } from "./Waveform.tsx";

export function Listen() {
  const running = isRunning(state.value.phase);
  return (
    <>
      <h1 class="hidden">{t("nav.listen")}</h1>
      <Sources running={running} />
      <div class="row low">
        <Press running={running} />
        <LevelMeter level={level} isMoving={running} />
      </div>
      <Options running={running} />
      <div>
        <StateLine task="listen" state={state.value} />
        <Fault fault={fault.value} onRetry={() => void listen()} />
      </div>
      <Waveform
        take={take.value}
        playhead={undefined}
        isMoving={running}
        label={t("listen.waveform")}
        low
      />
      <Transcript />
      <Tools />
    </>
  );
}

function Press({ running }: { running: boolean }) {
  const { source } = settings.value;
  const press = () => (running ? void finish() : void listen());
  return (
    <button
      id="listen"
      type="button"
      class={running ? "main stop" : "main"}
      disabled={!running && source === "file" && !file.value}
      onClick={press}
    >
      <Icon name={running ? "stop" : source === "microphone" ? "microphone" : "play"} />
      {running ? t("speak.stop") : t(source === "microphone" ? "listen.go" : "listen.play")}
    </button>
  );
}

const SOURCES: readonly Source[] = ["microphone", "file", "sample"];

function Sources({ running }: { running: boolean }) {
  const { source } = settings.value;
  return (
    <div class="row low">
      <fieldset class="choice" disabled={running}>
        <legend class="hidden">{t("listen.source")}</legend>
        {SOURCES.map((name) => (
          <label key={name} class="tick">
            <input
              type="radio"
              name="source"
              checked={source === name}
              onChange={() => change({ source: name })}
            />
            {t(`listen.${name}`)}
          </label>
        ))}
      </fieldset>
      {source === "file" ? <FileChoice running={running} /> : null}
    </div>
  );
}

function FileChoice({ running }: { running: boolean }) {
  const choose = (event: Event) => {
    file.value = (event.currentTarget as HTMLInputElement).files?.[0];
  };
  return (
    <label class="field">
      <span class="hidden">{t("listen.choose")}</span>
      <input type="file" accept="audio/*,video/*" disabled={running} onChange={choose} />
    </label>
  );
}

function Tools() {
  const empty = finals.value.length === 0;
  return (
    <div class="row low">
      <Copy text={() => plain(finals.value)} disabled={empty} />
      <button
        type="button"
        class="quiet"
        disabled={empty}
        title={t("listen.srt.label")}
        onClick={() => save("transcript.srt", srt(finals.value), "application/x-subrip")}
      >
        <Icon name="save" /> {t("listen.srt")}
      </button>
      <button
        type="button"
        class="quiet"
        disabled={empty}
        title={t("listen.vtt.label")}
        onClick={() => save("transcript.vtt", vtt(finals.value), "text/vtt")}
      >
        <Icon name="save" /> {t("listen.vtt")}
      </button>
      <button type="button" class="quiet" disabled={empty} onClick={clear}>
        {t("listen.clear")}
      </button>
    </div>
  );
}

function Options({ running }: { running: boolean }) {
  const { source, recognizer, heard: language, frameMs, effects } = settings.value;
  return (
    <div class="row">
      <Choice
        label={t("speak.language")}
        value={language ?? AUTOMATIC}
        disabled={running}
        options={languageOptions("recognize", recognizer)}
        onChoose={(tag) => change({ heard: tag || undefined })}
      />
      <Choice
        label={t("speak.engine")}
        value={recognizer ?? AUTOMATIC}
        disabled={running}
        options={engineOptions("recognize")}
        onChoose={(name) => change({ recognizer: name || undefined, heard: undefined })}
      />
      <Choice
        label={t("listen.frames")}
        value={String(frameMs)}
        disabled={running}
        options={["20", "200"].map((value) => ({ value, label: `${value} ms` }))}
        onChoose={(value) => change({ frameMs: value === "200" ? 200 : 20 })}
      />
      {source === "microphone" ? <Devices running={running} /> : null}
      {source === "microphone" ? (
        <Tick
          label={t("listen.effects")}
          checked={effects}
          onChange={(on) => change({ effects: on })}
        />
      ) : null}
    </div>
  );
}

/** Named only once the user has allowed the microphone. */
function Devices({ running }: { running: boolean }) {
  const devices = useSignal<readonly MediaDeviceInfo[]>([]);
  useEffect(() => {
    void microphones().then((found) => {
      devices.value = found.filter(({ label }) => label);
    });
  }, [running, devices]);
  if (devices.value.length < 2) return null;
  const options = devices.value.map(({ deviceId: value, label }) => ({ value, label }));
  return (
    <Choice
      label={t("listen.device")}
      value={deviceId.value ?? options[0]?.value ?? ""}
      disabled={running}
      options={options}
      onChoose={(id) => {
        deviceId.value = id;
      }}
    />
  );
}
