"""`legato voices add` and `remove`: voices of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legato.cli.exits import BadUsage
from legato.cli.loop import run
from legato.cli.options import CaFile, Insecure, Json, as_text
from legato.cli.pipes import emit
from legato.cli.site import ServerUrl

if TYPE_CHECKING:
    from legato.client.own_voices import OwnVoice, OwnVoices

Name = Annotated[str, typer.Argument(callback=as_text, help="Of the voice.")]


def add(
    name: Name,
    file: Annotated[
        Path, typer.Argument(help="Recording, 3 to 30 s of one speaker, in any format.")
    ],
    consent: Annotated[
        bool,
        typer.Option(
            "--consent", help="The speaker agrees that this is stored and spoken with; recorded."
        ),
    ] = False,
    text: Annotated[
        str, typer.Option(callback=as_text, help="What is said in it, word for word.")
    ] = "",
    language: Annotated[
        str, typer.Option(callback=as_text, help="What the speaker speaks, such as zh or zh,en.")
    ] = "",
    gender: Annotated[
        str | None, typer.Option(callback=as_text, help="female or male.", show_default=False)
    ] = None,
    as_json: Json = False,
    url: ServerUrl = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Bring a voice of your own: a recording for engines that can speak with it."""
    if not consent:
        raise BadUsage(
            "add --consent if the speaker, one person, agrees that the recording is stored and"
            " that texts are spoken with its voice; the server records that"
        )
    voices = _voices(url, ca_file, insecure=insecure)
    languages = [tag.strip() for tag in language.split(",") if tag.strip()]
    voice = run(voices.add(name, file, consent=True, text=text, languages=languages, gender=gender))
    if as_json:
        emit(json.dumps({"voice": dict(voice.facts)}, ensure_ascii=False))
        return
    emit(f"added: {voice.name}, {voice.seconds:.1f} s, {spoken_by(voice)}")


def remove_(
    name: Name,
    as_json: Json = False,
    url: ServerUrl = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Erase a voice of your own with its recording, and print a receipt."""
    removed = run(_voices(url, ca_file, insecure=insecure).remove(name))
    if as_json:
        emit(json.dumps({"voice": name, "erased": {"voices": int(removed)}}, ensure_ascii=False))
        return
    emit("erased: 1 voice" if removed else "erased: nothing, it was not there")


def own_rows(voices: list[OwnVoice]) -> list[tuple[str, ...]]:
    """Return the lines of the table of voices for one's own."""
    return [
        (
            voice.name,
            voice.engine or "-",
            "synthesize",
            " ".join(voice.languages) or "any",
            "own",
            ", ".join(filter(None, (f"{voice.seconds:.1f} s", voice.gender, spoken_by(voice)))),
        )
        for voice in voices
    ]


def spoken_by(voice: OwnVoice) -> str:
    """Say whether a voice can be spoken with."""
    if voice.usable:
        return "can be spoken with"
    return "no engine here can speak with it (docs/voices.md)"


def _voices(url: str | None, ca_file: Path | None, *, insecure: bool) -> OwnVoices:
    from legato.cli.target import check_address
    from legato.client.own_voices import OwnVoices
    from legato.settings import load  # slow to import

    check_address(url, ca_file)
    flags = {"url": url, "ca_file": ca_file, "insecure": insecure or None}
    return OwnVoices(load(flags={"client": flags}).settings.client)
