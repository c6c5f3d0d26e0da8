"""`legato models`: the weights of engines, fetched from a hub, checked and removed."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from legato.cli.exits import ERR, BadUsage, Exit
from legato.cli.options import ConfigFile, Json, as_text
from legato.cli.pipes import emit, show

if TYPE_CHECKING:
    from legato.engines.models.catalogue import KnownModel
    from legato.engines.models.config import ModelsConfig
    from legato.engines.models.names import Hub, ModelName
    from legato.engines.models.pull import Pulled
    from legato.engines.models.shelf import Entry, Shelf

Name = Annotated[
    str,
    typer.Argument(
        callback=as_text,
        help="Short name, such as cosyvoice2, or hub:owner/name; hub is modelscope or huggingface.",
    ),
]
OnHub = Annotated[
    str | None,
    typer.Option("--hub", help="modelscope or huggingface, for a short name that is on both."),
]
Folder = Annotated[
    Path | None, typer.Option(help="Folder of models, if not the one of the settings.")
]


def list_(
    known: Annotated[
        bool, typer.Option("--known", help="List the models that have a short name as well.")
    ] = False,
    as_json: Json = False,
    folder: Folder = None,
    config: ConfigFile = None,
) -> None:
    """List the models that are here, whole or partly."""
    shelf, _ = _shelf(folder, config)
    entries = shelf.entries()
    if as_json:
        told: dict[str, Any] = {"folder": str(shelf.root), "models": [*map(_entry_row, entries)]}
        if known:
            told["known"] = [*map(_known_row, _catalogue())]
        emit(json.dumps(told, ensure_ascii=False))
        return
    if entries or not known:
        _show_entries(entries, shelf)
    if known:
        _show_known()


def pull(
    name: Name,
    hub: OnHub = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also the files that the engine does not need.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Re-hash what is here, and fetch what is wrong.")
    ] = False,
    as_json: Json = False,
    folder: Folder = None,
    config: ConfigFile = None,
) -> None:
    """Fetch a model; one that was interrupted is gone on with."""
    import random

    from legato.cli.fetching import Bar, in_thread
    from legato.engines.models.catalogue import resolve
    from legato.engines.models.pull import Pull

    model, known = resolve(name, _hub(hub))
    shelf, settings = _shelf(folder, config)
    with Bar(f"fetching {model}", quiet=as_json) as bar:
        work = Pull(
            model=model,
            known=None if everything else known,
            shelf=shelf,
            config=settings,
            rng=random.Random(),  # noqa: S311  (spreads tries, guards nothing)
            watcher=bar,
            again=again,
        )
        pulled = in_thread(work.run, work.stop, lambda: _kept(shelf, model))
    _tell_pulled(pulled, known, as_json=as_json)


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Models, as for pull; without any, all."),
    ] = None,
    as_json: Json = False,
    folder: Folder = None,
    config: ConfigFile = None,
) -> None:
    """Compare every byte of models with the checksums of their hub."""
    from legato.cli.fetching import Bar, in_thread

    shelf, _ = _shelf(folder, config)
    models = (
        [_here(shelf, name) for name in names]
        if names
        else [entry.model for entry in shelf.entries() if entry.is_whole]
    )
    rows, stop = [], threading.Event()
    for model in models:
        manifest = shelf.manifest(model)
        with Bar(f"checking {model.plain}", quiet=as_json) as bar:
            if manifest is not None:
                bar.begin(manifest.size_bytes)

            def work(model: ModelName = model, bar: Bar = bar) -> list[tuple[Any, Any]]:
                return shelf.verify(model, stop, bar.moved)

            found = in_thread(work, stop, lambda: "nothing was changed")
        faults = {record.path: str(verdict) for record, verdict in found if not verdict.is_good}
        unsure = [record.path for record, _ in found if not record.is_checkable]
        rows.append(
            {"model": model.plain, "files": len(found), "faults": faults, "size_only": unsure}
        )
    _tell_verified(rows, as_json=as_json)
    if any(row["faults"] for row in rows):
        raise typer.Exit(Exit.FAILED)


def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    folder: Folder = None,
    config: ConfigFile = None,
) -> None:
    """Remove a model, whole or partial, and print a receipt."""
    from legato.engines.models.faults import NotPulled

    shelf, _ = _shelf(folder, config)
    model = _here(shelf, name)
    entry = shelf.entry(model)
    if entry is None:
        raise NotPulled(f"{model.plain} is not there; `legato models list` shows what is")
    if not yes:
        _ask(f"remove {model.plain} ({decimal(entry.size_bytes)}) from {entry.path}?")
    receipt = shelf.remove(model)
    if as_json:
        row = {
            "model": model.plain,
            "removed": [str(path) for path in receipt.paths],
            "files": receipt.files,
            "size_bytes": receipt.size_bytes,
        }
        emit(json.dumps(row, ensure_ascii=False))
        return
    emit(f"removed {model.plain}: {receipt.files} files, {decimal(receipt.size_bytes)}")


def _shelf(folder: Path | None, config: Path | None) -> tuple[Shelf, ModelsConfig]:
    from legato.engines.models.shelf import Shelf
    from legato.settings import load, models_folder

    flags = {"models": {"folder": None if folder is None else str(folder)}}
    settings = load(file=config, flags=flags).settings.models
    return Shelf(models_folder(settings)), settings


def _catalogue() -> tuple[KnownModel, ...]:
    from legato.engines.models.catalogue import KNOWN

    return KNOWN


def _hub(text: str | None) -> Hub | None:
    from legato.engines.models.names import Hub

    if text is None:
        return None
    if text not in set(Hub):
        raise BadUsage(f"--hub: {text} is none; there are {', '.join(Hub)}")
    return Hub(text)


def _here(shelf: Shelf, name: str) -> ModelName:
    """Return the model that is meant, on the hub that it was pulled from."""
    from legato.engines.models.catalogue import resolve

    model, known = resolve(name)
    sources = known.sources if known and ":" not in name else (model,)
    found = [entry for source in sources if (entry := shelf.entry(source)) is not None]
    found.sort(key=lambda entry: not entry.is_whole)
    return found[0].model if found else model


def _kept(shelf: Shelf, model: ModelName) -> str:
    partial = shelf.partial(model)
    sizes = (path.stat().st_size for path in partial.rglob("*") if path.is_file())
    return f"{decimal(sum(sizes))} are kept; the same command goes on from there"


def _tell_pulled(pulled: Pulled, known: KnownModel | None, *, as_json: bool) -> None:
    manifest = pulled.manifest
    if as_json:
        row = {
            "model": manifest.model,
            "revision": manifest.revision,
            "path": str(pulled.path),
            "files": len(manifest.files),
            "size_bytes": manifest.size_bytes,
            "fetched_bytes": pulled.fetched_bytes,
            "was_there": pulled.was_there,
            "licence": manifest.licence,
            "size_only": [file.path for file in manifest.files if not file.is_checkable],
        }
        emit(json.dumps(row, ensure_ascii=False))
        return
    verb = "already here" if pulled.was_there else "pulled"
    licence = f", licence {manifest.licence}" if manifest.licence else ""
    size = f"{len(manifest.files)} files, {decimal(manifest.size_bytes)}{licence}"
    emit(f"{verb}: {manifest.model}, {size}\n{pulled.path}")
    if known is not None:
        ERR.print(f"legato: for the engine {known.engine}; docs/engines.md says how", markup=False)


def _tell_verified(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        emit(json.dumps(rows, ensure_ascii=False))
        return
    if not rows:
        emit("no models")
    for row in rows:
        for path, fault in row["faults"].items():
            emit(f"{row['model']}: {path}: {fault}")
        if row["faults"]:
            ERR.print(f"legato: mend it with: legato models pull {row['model']} --again")
            continue
        unsure = f" ({len(row['size_only'])} by their size only)" if row["size_only"] else ""
        emit(f"{row['model']}: {row['files']} files are whole{unsure}")


def _ask(question: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadUsage("nobody can be asked here: add --yes")
    if not typer.confirm(question, err=True):
        raise typer.Exit(Exit.FAILED)


def _entry_row(entry: Entry) -> dict[str, Any]:
    return {
        "model": entry.model.plain,
        "path": str(entry.path),
        "whole": entry.is_whole,
        "updating": entry.is_updating,
        "size_bytes": entry.size_bytes,
        "wanted_bytes": entry.wanted_bytes,
        "revision": entry.revision,
        "licence": entry.licence,
    }


def _known_row(known: KnownModel) -> dict[str, Any]:
    return {
        "name": known.name,
        "about": known.about,
        "engine": known.engine,
        "sources": [str(source) for source in known.sources],
        "licence": known.licence,
        "size_bytes": known.size_bytes,
        "verified": known.verified,
    }


def _show_entries(entries: list[Entry], shelf: Shelf) -> None:
    if not entries:
        emit(f"no models in {shelf.root}; `legato models list --known` names some")
        return
    table = _table("model", "state", "size", "where")
    for entry in entries:
        state = "whole, update begun" if entry.is_updating else "whole"
        if not entry.is_whole:
            share = entry.size_bytes / entry.wanted_bytes if entry.wanted_bytes else 0.0
            state = f"partial, {min(share, 0.99):.0%}"
        table.add_row(entry.model.plain, state, decimal(entry.size_bytes), escape(str(entry.path)))
    show(table)


def _show_known() -> None:
    table = _table("name", "engine", "licence", "hubs", "about")
    for known in _catalogue():
        hubs = ", ".join(source.hub for source in known.sources)
        licence = known.licence or "see its page"
        table.add_row(known.name, known.engine, licence, hubs, known.about)
    show(table)
    untried = [known.name for known in _catalogue() if not known.verified]
    if untried:
        note = f"not tried with this version, so names and files may differ: {', '.join(untried)}"
        show(Text(note, style="dim"))


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
