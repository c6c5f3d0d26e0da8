/** Text in, sound out. */

import { wavBlob } from "../core/sound/index.ts";
import { change, settings } from "./address.ts";
import { Choice } from "./Choice.tsx";
import { isForeign, text, usable } from "./catalog.ts";
import { AUTOMATIC, automatic, engineOptions, languageOptions } from "./choices.ts";
import { Fault } from "./Fault.tsx";
import { Figures } from "./Figure.tsx";
import { length, significant, spoken } from "./figures.ts";
import { save } from "./files.ts";
import { Icon } from "./Icon.tsx";
import { t } from "./language.ts";
import { isRunning } from "./phases.ts";
import { StateLine } from "./StateLine.tsx";
import { PACE, SPEED } from "./settings.ts";
import { fault, isEmpty, playhead, position, retry, speak, state, stop, take } from "./speaking.ts";
import { Tick } from "./Tick.tsx";
import { KEPT } from "./take.ts";
import { Waveform } from "./Waveform.tsx";

export function Speak() {
  const running = isRunning(state.value.phase);
  return (
    <>
      <h1 class="hidden">{t("nav.speak")}</h1>
      <Box />
      <div class="row">
        <button
          type="button"
          class={running ? "main stop" : "main"}
          onClick={() => (running ? stop() : void speak())}
        >
          <Icon name={running ? "stop" : "play"} />
          {running ? t("speak.stop") : t("speak.go")}
        </button>
        <Voices />
        <Speed />
      </div>
      <div class="row low">
        <Tick
          label={t("speak.streaming")}
          hint={t("speak.streaming.hint")}
          checked={settings.value.streaming}
          onChange={(streaming) => change({ streaming })}
        />
        <Typed />
      </div>
      <div>
        <StateLine task="speak" state={state.value} />
        <Fault fault={fault.value} onRetry={() => void retry()} kept />
      </div>
      <Heard running={running} />
    </>
  );
}

function Box() {
  const type = (event: KeyboardEvent) => {
    // Enter also ends the choice of a Chinese character, and then speaks nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void speak();
  };
  return (
    <div>
      <label class="hidden" for="text">
        {t("speak.text")}
      </label>
      <textarea
        id="text"
        rows={3}
        value={text.value}
        placeholder={t("speak.placeholder")}
        onInput={(event) => change({ text: event.currentTarget.value })}
        onKeyDown={type}
      />
      {isForeign.value ? <p class="hint">{t("speak.no_voice")}</p> : null}
      <div role="alert">{isEmpty.value ? <p class="hint">{t("speak.empty")}</p> : null}</div>
    </div>
  );
}

function Voices() {
  const { engine, voice, spoken: language } = settings.value;
  const speaking = usable("synthesize").filter(({ name }) => !engine || name === engine);
  const voices = speaking
    .flatMap((one) => one.voices)
    .filter(({ languages }) => !language || languages.includes(language));
  const options = [...new Map(voices.map((one) => [one.name, one])).values()].map(
    ({ name, description }) => ({
      value: name,
      label: description ? `${name} · ${description}` : name,
    }),
  );
  return (
    <>
      <Choice
        label={t("speak.voice")}
        value={voice ?? AUTOMATIC}
        options={[automatic(), ...options]}
        onChoose={(name) => change({ voice: name || undefined })}
      />
      <Choice
        label={t("speak.language")}
        value={language ?? AUTOMATIC}
        options={languageOptions("synthesize", engine)}
        onChoose={(tag) => change({ spoken: tag || undefined, voice: undefined })}
      />
      <Choice
        label={t("speak.engine")}
        value={engine ?? AUTOMATIC}
        options={engineOptions("synthesize")}
        onChoose={(name) =>
          change({ engine: name || undefined, voice: undefined, spoken: undefined })
        }
      />
    </>
  );
}

function Speed() {
  const { speed } = settings.value;
  return (
    <label class="field">
      <span>
        {t("speak.speed")} <span aria-hidden="true">{significant(speed)}×</span>
      </span>
      <input
        type="range"
        {...SPEED}
        value={speed}
        onInput={(event) => change({ speed: Number(event.currentTarget.value) })}
      />
    </label>
  );
}

function Typed() {
  const { pace } = settings.value;
  return (
    <>
      <Tick
        label={t("speak.typed")}
        checked={pace > 0}
        onChange={(typed) => change({ pace: typed ? PACE.start : 0 })}
      />
      {pace > 0 ? (
        <label class="field">
          <span>
            {t("speak.pace")} <span aria-hidden="true">{pace}</span>
          </span>
          <input
            type="range"
            min={PACE.min}
            max={PACE.max}
            step={PACE.step}
            value={pace}
            onInput={(event) => change({ pace: Number(event.currentTarget.value) })}
          />
        </label>
      ) : null}
    </>
  );
}

function Heard({ running }: { running: boolean }) {
  const sound = take.value;
  const total = length(sound?.seconds ?? 0);
  const played = length(position.value);
  return (
    <>
      <Waveform
        take={sound}
        playhead={playhead}
        isMoving={running}
        label={t("speak.waveform", { played: spoken(played), total: spoken(total) })}
      />
      <div class="row low">
        <span class="time">
          {sound ? `${played.number} / ` : ""}
          <Figures figure={sound ? total : undefined} />
        </span>
        <button
          type="button"
          class="quiet push"
          title={t("speak.wav.label")}
          disabled={!sound || running || sound.seconds === 0}
          onClick={saveWav}
        >
          <Icon name="save" /> {t("speak.wav")}
        </button>
      </div>
      {sound?.truncated && !running ? (
        <p class="hint">{t("speak.truncated", { minutes: KEPT / 60 })}</p>
      ) : null}
    </>
  );
}

function saveWav(): void {
  const sound = take.value;
  if (sound) save("speech.wav", wavBlob(sound.pieces, sound.rateHz), "audio/wav");
}
