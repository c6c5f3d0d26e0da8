"""`legato listen`: a file, a pipe or a microphone in, text out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import typer

from legato.audio import AudioFormat
from legato.cli.exits import ERR, BadUsage
from legato.cli.extras import need
from legato.cli.loop import Interruption, run
from legato.cli.options import CaFile, Engine, Insecure, Json, Language, Url
from legato.cli.pipes import STDIN, emit, stdin
from legato.cli.progress import Progress
from legato.cli.subtitles import VTT_HEADER, Cue, split, srt_cue, vtt_cue
from legato.cli.target import Target
from legato.client.listening import Listening
from legato.client.options import ListenOptions
from legato.client.sources import AudioSource
from legato.speech import Endpointing, Transcript

SAMPLE_RATE: Final = 16_000

Hotwords = Annotated[
    list[str] | None,
    typer.Option("--hotword", help="A word to favour, where the engine can; may be repeated."),
]
Punctuation = Annotated[
    bool | None,
    typer.Option("--punctuation/--no-punctuation", help="Write punctuation, or words alone."),
]
Figures = Annotated[
    bool | None,
    typer.Option(
        "--inverse-normalization/--no-inverse-normalization",
        help="Write numbers as figures, or as words, where the engine can.",
    ),
]


class Form(StrEnum):
    """How the text is written."""

    TEXT = "text"
    JSON = "json"
    SRT = "srt"
    VTT = "vtt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What one `legato listen` does.

    Attributes:
        file: Path, - for standard input, or None for the microphone.
        request: What is asked for.
        form: How the text is written.
    """

    file: str | None
    request: ListenOptions
    form: Form


def listen(
    file: Annotated[
        str | None, typer.Argument(help="Audio file of any kind; - for standard input.")
    ] = None,
    mic: Annotated[
        bool, typer.Option("--mic", help="Listen to the microphone; Ctrl-C ends it.")
    ] = False,
    engine: Engine = None,
    language: Language = None,
    silence: Annotated[
        float, typer.Option(min=0.1, max=10.0, help="Seconds of silence that end a segment.")
    ] = 0.5,
    hotword: Hotwords = None,
    punctuation: Punctuation = None,
    inverse_normalization: Figures = None,
    as_json: Json = False,
    as_srt: Annotated[bool, typer.Option("--srt", help="Write SubRip subtitles.")] = False,
    as_vtt: Annotated[bool, typer.Option("--vtt", help="Write WebVTT subtitles.")] = False,
    url: Url = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Write down what is said."""
    request: ListenOptions = {
        "engine": engine,
        "language": language,
        "sample_rate": SAMPLE_RATE,
        "endpointing": Endpointing(silence=silence),
        "hotwords": hotword or (),
        "options": _given(punctuation=punctuation, inverse_normalization=inverse_normalization),
    }
    form = _form(as_json=as_json, as_srt=as_srt, as_vtt=as_vtt)
    if (file is None) != mic:
        raise BadUsage("give one source: a FILE, - for standard input, or --mic")
    if file is not None and not file:
        raise BadUsage("the name of the FILE is empty; - is standard input")
    if mic:
        need("audio")
    target = Target(url, ca_file=ca_file, insecure=insecure, quiet=form is Form.JSON)
    interruption = Interruption()
    run(_listen(Hearing(file=file, request=request, form=form), target, interruption), interruption)


def _given(**options: bool | None) -> dict[str, bool]:
    return {name: value for name, value in options.items() if value is not None}


def _form(*, as_json: bool, as_srt: bool, as_vtt: bool) -> Form:
    asked = {Form.JSON: as_json, Form.SRT: as_srt, Form.VTT: as_vtt}
    forms = [form for form, on in asked.items() if on]
    if len(forms) > 1:
        raise BadUsage("give one of --json, --srt and --vtt")
    return forms[0] if forms else Form.TEXT


async def _listen(hearing: Hearing, target: Target, interruption: Interruption) -> None:
    writing = _Writing(hearing.form)
    async with (
        target.client("recognize") as client,
        _source(hearing.file, interruption) as audio,
        client.listen(audio, **hearing.request) as listening,
    ):
        with Progress("heard", shown=True) as progress:
            async for transcript in listening:
                progress.show(listening.stats.audio, transcript.text)
                if transcript.final and transcript.text:
                    with progress.aside():
                        writing.add(transcript)
        writing.end(listening)
        if listening.warning is not None:
            ERR.print(f"legato: {listening.warning}", markup=False)


@asynccontextmanager
async def _source(file: str | None, interruption: Interruption) -> AsyncIterator[AudioSource]:
    if file is not None:
        yield stdin() if file == STDIN else file
        return
    from legato.client.devices import Microphone  # needs the audio extra

    async with Microphone(AudioFormat(SAMPLE_RATE)) as microphone:
        interruption.gently = microphone.stop
        yield microphone


class _Writing:
    """Writes transcripts to standard output, each as soon as its form allows.

    Args:
        form: How.
    """

    def __init__(self, form: Form) -> None:
        self._form = form
        self._heard = False
        self._cues = 0
        self._kept: list[Transcript] = []
        if form is Form.VTT:
            emit(VTT_HEADER, end="")

    def add(self, transcript: Transcript) -> None:
        """Take a final."""
        self._heard = True
        match self._form:
            case Form.TEXT:
                emit(transcript.text)
            case Form.JSON:
                self._kept.append(transcript)
            case _:
                self._add_cues(transcript)

    def _add_cues(self, transcript: Transcript) -> None:
        whole = Cue(transcript.start / SAMPLE_RATE, transcript.end / SAMPLE_RATE, transcript.text)
        for cue in split(whole):
            self._cues += 1
            vtt = self._form is Form.VTT
            emit(vtt_cue(cue) if vtt else srt_cue(self._cues, cue), end="")

    def end(self, listening: Listening) -> None:
        """Write what had to wait for the end."""
        if self._form is Form.JSON:
            emit(json.dumps(report(self._kept, listening), ensure_ascii=False))
        elif not self._heard and ERR.is_terminal:
            ERR.print("legato: no speech was heard")


def report(finals: list[Transcript], listening: Listening) -> dict[str, object]:
    """Return what `--json` prints."""
    stats = listening.stats
    return {
        "text": " ".join(transcript.text for transcript in finals),
        "words": [
            {"text": word.text, "start": word.start, "end": word.end, "confidence": word.confidence}
            for transcript in finals
            for word in transcript.words
        ],
        "first_partial_s": _rounded(stats.first_partial),
        "final_latency_s": _rounded(stats.final_latency),
        "audio_s": round(stats.audio, 4),
        "segments": [
            {
                "text": transcript.text,
                "start": round(transcript.start / SAMPLE_RATE, 3),
                "end": round(transcript.end / SAMPLE_RATE, 3),
                "confidence": transcript.confidence,
            }
            for transcript in finals
        ],
        "engine": listening.engine,
        "resumes": listening.resumes,
        "warning": listening.warning,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
