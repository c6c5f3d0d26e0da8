"""`legato status`: gateways, workers, leases, and what waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from legato.cli.exits import PlainConsole
from legato.cli.loop import run
from legato.cli.options import CaFile, Insecure, Json
from legato.cli.pipes import emit, is_terminal, show, writing
from legato.cli.site import BusUrl, ServerUrl, Site

if TYPE_CHECKING:
    from legato.bus.cluster import Cluster, Lease
    from legato.bus.records import ProcessRecord

EVERY: Final = 1.0
"""Seconds between two looks of --watch."""

WIDE: Final = 240
"""Columns where nobody looks at a terminal."""

SILENT: Final = 2.5
"""Seconds without a word after which a process may be dead: one that lives writes each second."""

MAX_ROWS: Final = 40
"""Leases that are shown to a person; --json has them all."""

Look = Callable[[], Awaitable["Cluster"]]


def status(
    as_json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again each second.")] = False,
    url: ServerUrl = None,
    bus: BusUrl = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Show gateways, workers, the streams that they hold, and what waits."""
    run(_look(Site(url, bus, ca_file=ca_file, insecure=insecure), as_json=as_json, watch=watch))


async def _look(site: Site, *, as_json: bool, watch: bool) -> None:
    if not site.is_bus:
        await _tell(site.cluster, as_json=as_json, watch=watch)
        return
    from legato.bus.cluster import read_cluster

    async with site.bus() as bus:
        await _tell(lambda: read_cluster(bus), as_json=as_json, watch=watch)


async def _tell(look: Look, *, as_json: bool, watch: bool) -> None:
    if watch and not as_json and is_terminal():
        with writing(), Live(console=PlainConsole(), auto_refresh=False) as live:
            while True:
                live.update(picture(await look(), now=time.time()), refresh=True)
                await asyncio.sleep(EVERY)
    while True:
        cluster = await look()
        if as_json:
            _emit(cluster)
        else:
            # For grep and the like a line stays a line.
            console = None if is_terminal() else PlainConsole(width=WIDE)
            show(picture(cluster, now=time.time()), console=console)
        if not watch:
            return
        await asyncio.sleep(EVERY)


def _emit(cluster: Cluster) -> None:
    from legato.bus.cluster import encode_cluster

    emit(encode_cluster(cluster).decode())


def picture(cluster: Cluster, *, now: float) -> RenderableType:
    """Return what a person is shown.

    Args:
        cluster: What there is.
        now: Unix time in seconds.
    """
    if not cluster.gateways and not cluster.workers:
        return Text("no gateway and no worker runs on this bus")
    waiting = ", ".join(f"{count} for {engine}" for engine, count in cluster.waiting.items())
    parts: list[RenderableType] = [_processes((*cluster.gateways, *cluster.workers), now)]
    if cluster.leases:
        parts += [Text(), _leases(cluster.leases[:MAX_ROWS])]
    summary = f"{cluster.streams} streams, {cluster.held} held by workers"
    return Group(*parts, Text(), Text(f"{summary}; waiting: {waiting or 'none'}"))


def _processes(processes: Iterable[ProcessRecord], now: float) -> Table:
    table = _table("process", "role", "pid", "version", "state", "up", "lag", "streams", "load")
    for one in processes:
        table.add_row(
            escape(one.name),
            one.role,
            str(one.pid),
            escape(one.version),
            *_condition(one, now),
        )
    return table


def _condition(one: ProcessRecord, now: float) -> tuple[str, str, str, str, str]:
    """Return state, age, lag, streams and load; what a silent process had to do is not told."""
    up = duration(max(0.0, now - one.started))
    if one.told and now - one.told > SILENT:
        return "silent", up, "-", "-", f"dead or cut off: no word for {duration(now - one.told)}"
    lag = f"{one.loop_lag * 1000:.0f} ms"
    return one.state, up, lag, str(one.streams), escape(load(one))


def load(process: ProcessRecord) -> str:
    """Return what a process has to do: connections of a gateway, slots of a worker."""
    if process.role == "gateway":
        return f"{process.connections} connections"
    return ", ".join(
        f"{engine.name} ({engine.kind}) {engine.busy}/{engine.slots}"
        if engine.state == "ready"
        else f"{engine.name} ({engine.kind}) {engine.state}"
        for engine in process.engines
    )


def _leases(leases: Iterable[Lease]) -> Table:
    table = _table("stream", "tenant", "engine", "worker", "for", "deliveries")
    for lease in leases:
        table.add_row(
            escape(lease.stream_id),
            escape(lease.tenant),
            escape(lease.engine),
            escape(lease.worker),
            duration(lease.age),
            str(lease.deliveries),
        )
    return table


def duration(seconds: float) -> str:
    """Return a time as a person reads it, such as `2 h 5 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60 % 60, whole // 3600 % 24, whole // 86_400
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
