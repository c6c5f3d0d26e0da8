"""`legato say`: text in, an audio file, a pipe or a loudspeaker out."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Final

import typer

from legato.audio import AudioChunk, AudioFormat, Codec
from legato.cli.exits import BadUsage
from legato.cli.extras import need
from legato.cli.loop import run
from legato.cli.options import CaFile, Engine, Insecure, Json, Language, Url, as_text, is_text
from legato.cli.output import FileOutput
from legato.cli.pipes import STDIN, STDOUT, emit, is_terminal, stdin
from legato.cli.progress import Progress
from legato.cli.target import Target
from legato.cli.texts import piped, portions
from legato.client.client import Client
from legato.client.options import SpeakOptions
from legato.client.sources import TextSource
from legato.client.speech import Speech
from legato.errors import UnsupportedFormat, UnsupportedText

if TYPE_CHECKING:
    from legato.codecs.encoded import FileKind

RATE_HZ: Final = 24_000
PHONE_RATE_HZ: Final = 8_000
"""Of mu-law and A-law files, which telephones take."""

FILE_PACE: Final = 1000.0
"""Multiples of real time at which audio for a file may come."""

Sink = Callable[[AudioChunk], Awaitable[None]]

Text = Annotated[str, typer.Argument(help="What to say; - reads it from standard input.")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="File to write: .wav, .mp3, .flac, .opus, .ogg, .ul, .al or .raw; - for standard"
        " output.",
    ),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="What to write, whatever the file's name: wav, wav-mulaw, wav-alaw, mp3, flac, opus,"
        " mulaw, alaw or raw.",
    ),
]
CodecName = Annotated[
    str,
    typer.Option(
        "--codec", callback=as_text, help="Of the audio on its way here: opus takes a tenth."
    ),
]
Play = Annotated[bool, typer.Option("--play", help="Play it as it comes.")]
VoiceName = Annotated[
    str | None, typer.Option("--voice", callback=as_text, help="`legato voices` lists them.")
]
Speed = Annotated[float, typer.Option(min=0.5, max=2.0, help="Speaking rate.")]
Rate = Annotated[
    int | None,
    typer.Option(
        "--rate",
        help="Sample rate in Hz.",
        show_default="24000, of mu-law and A-law files 8000",
    ),
]
Depth = Annotated[
    float, typer.Option(min=0.0, max=30.0, help="Seconds held back before --play starts.")
]
Whole = Annotated[
    bool, typer.Option("--no-stream", help="Synthesize all of it before any audio is sent.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What one `legato say` does.

    Attributes:
        text: What to say.
        request: The rest of what is asked for.
        format: Of the audio.
        output: File, - for standard output, or None.
        kind: Of the file; None for WAV.
        play: Whether to play it.
        depth: Seconds held back before playing starts.
        quiet: No progress.
    """

    text: TextSource
    request: SpeakOptions
    format: AudioFormat
    output: str | None
    kind: FileKind | None
    play: bool
    depth: float
    quiet: bool


def say(
    text: Text,
    output: Output = None,
    play: Play = False,
    voice: VoiceName = None,
    engine: Engine = None,
    language: Language = None,
    speed: Speed = 1.0,
    sample_rate: Rate = None,
    file_format: FileFormat = None,
    codec: CodecName = Codec.PCM_S16LE.value,
    depth: Depth = 0.1,
    no_stream: Whole = False,
    as_json: Json = False,
    url: Url = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Say a text."""
    output = _output(output, play=play, as_json=as_json)
    kind, form = _file(output, file_format, sample_rate)
    who: SpeakOptions = {"voice": voice, "engine": engine, "language": language, "speed": speed}
    how: SpeakOptions = {"sample_rate": form.sample_rate, "codec": codec}
    how |= {"streaming": not no_stream, "pace": None if play else FILE_PACE}
    saying = Saying(
        text=_text(text),
        request={**who, **how},
        format=form,
        output=output,
        kind=kind,
        play=play,
        depth=depth,
        quiet=as_json or output == STDOUT,
    )
    target = Target(url, ca_file=ca_file, insecure=insecure, quiet=saying.quiet)
    report = run(_say(saying, target))
    if as_json:
        emit(json.dumps(report))


def _text(text: str) -> TextSource:
    if text == STDIN:
        return piped(stdin())
    if not text.strip():
        raise UnsupportedText("there is no text to say")
    if not is_text(text):
        raise UnsupportedText("the text is not UTF-8")
    return text


def _output(output: str | None, *, play: bool, as_json: bool) -> str | None:
    if play:
        need("audio")
    if output == STDOUT and as_json:
        raise BadUsage("--json and audio cannot both go to standard output; give -o FILE")
    if output == STDOUT and is_terminal():
        raise BadUsage("audio would garble this terminal; give -o FILE, or pipe it: | aplay")
    if output is None and not play and not as_json:
        if is_terminal():
            raise BadUsage("where to? Give -o FILE, or --play, or pipe it: legato say … | aplay")
        return STDOUT
    if output is not None and not output.strip():
        raise BadUsage("-o has no name of a file; give -o FILE, or - for standard output")
    return output


def _file(
    output: str | None, named: str | None, rate_hz: int | None
) -> tuple[FileKind | None, AudioFormat]:
    """Return the kind of file to write, None for WAV, and the format of what goes into it.

    Raises:
        BadUsage: If there is no such kind, or no output.
        UnsupportedFormat: If it has not that rate.
    """
    kind = _kind(output, named)
    if kind is None:
        return None, AudioFormat(RATE_HZ if rate_hz is None else rate_hz)
    from legato.codecs.encoded import check_rate

    usual = PHONE_RATE_HZ if kind.telephony else RATE_HZ
    form = AudioFormat(usual if rate_hz is None else rate_hz)
    check_rate(kind, form)
    return kind, form


def _kind(output: str | None, named: str | None) -> FileKind | None:
    """Return the kind of file to write, None for WAV, for which nothing has to be loaded."""
    if named is not None and output is None:
        raise BadUsage("--format is of a file; give -o FILE too")
    suffix = "" if output in {None, STDOUT} else PurePath(output or "").suffix.lower()
    if named == "wav" or (named is None and suffix in {"", ".wav"}):
        return None
    from legato.codecs.encoded import kind_named, kind_of  # loads FFmpeg

    try:
        return kind_of(output or "") if named is None else kind_named(named)
    except UnsupportedFormat as error:
        raise BadUsage(error.message) from error


async def _say(saying: Saying, target: Target) -> dict[str, object]:
    began = time.monotonic()
    async with AsyncExitStack() as outputs:
        sinks = await _open_sinks(saying, outputs)
        async with target.client("synthesize") as client:
            return await _receive(saying, client, sinks, began)


async def _receive(
    saying: Saying, client: Client, sinks: list[Sink], began: float
) -> dict[str, object]:
    digest = hashlib.sha256()
    samples = 0
    progress = Progress("said", shown=not saying.quiet)

    def end() -> None:
        speech.finalize()

    async with client.speak(portions(saying.text, end), **saying.request) as speech:
        with progress:
            async for chunk in speech:
                for sink in sinks:
                    await sink(chunk)
                digest.update(chunk.pcm)
                samples += chunk.samples
                progress.show(speech.stats.audio)
    return {
        **_report(speech),
        "wall_s": round(time.monotonic() - began, 4),
        "samples": samples,
        "sample_rate": saying.format.sample_rate,
        "sha256": digest.hexdigest(),
    }


async def _open_sinks(saying: Saying, outputs: AsyncExitStack) -> list[Sink]:
    sinks: list[Sink] = []
    if saying.output is not None:
        file = FileOutput(saying.output, saying.format, saying.kind)
        await outputs.enter_async_context(file)
        sinks.append(file.write)
    if saying.play:
        from legato.client.devices import Loudspeaker  # needs the audio extra

        loudspeaker = Loudspeaker(saying.format, depth=saying.depth)
        await outputs.enter_async_context(loudspeaker)
        sinks.append(loudspeaker.write)
    return sinks


def _report(speech: Speech) -> dict[str, object]:
    stats = speech.stats
    return {
        "first_audio_s": None if stats.first_audio is None else round(stats.first_audio, 4),
        "audio_s": round(stats.audio, 4),
        "stalls": stats.stalls,
        "intact": speech.intact,
        "resumes": speech.resumes,
    }
