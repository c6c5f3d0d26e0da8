"""`legato forget`: erases what a bus holds of a stream or a tenant, and says what that was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from legato.cli.exits import BadUsage
from legato.cli.loop import run
from legato.cli.options import CaFile, Insecure, Json, as_text
from legato.cli.pipes import emit
from legato.cli.site import BusUrl, ServerUrl, Site
from legato.errors import MalformedMessage

if TYPE_CHECKING:
    from legato.bus.erasure import Receipt


def forget(
    stream: Annotated[
        str | None, typer.Option(callback=as_text, help="Id of the stream to erase, live or not.")
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            callback=as_text,
            help="Tenant to erase whole, or whose the stream is; needs --bus.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    url: ServerUrl = None,
    bus: BusUrl = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Erase all that is stored of a stream or a tenant, and print a receipt."""
    _check(stream, tenant, bus)
    site = Site(url, bus, ca_file=ca_file, insecure=insecure)
    receipt = run(_erase(site, stream, tenant))
    counts = _counts(receipt)
    if as_json:
        asked = {"stream": stream, "tenant": tenant}
        given = {name: value for name, value in asked.items() if value is not None}
        emit(json.dumps({**given, "erased": counts}))
        return
    erased = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    emit(f"erased: {erased or 'nothing, none of it was there'}")


def _check(stream: str | None, tenant: str | None, bus: str | None) -> None:
    if stream is None and tenant is None:
        raise BadUsage("name what to erase with --stream or --tenant")
    if tenant is not None and (bus is None or not tenant):
        raise BadUsage("--tenant needs a name and --bus: a server erases only its caller's streams")
    if stream is not None:
        from legato.protocol.identifiers import check_stream_id

        try:
            check_stream_id(stream)
        except MalformedMessage as error:
            raise BadUsage(f"--stream: {error.message}") from error


async def _erase(site: Site, stream: str | None, tenant: str | None) -> Receipt:
    if not site.is_bus:
        return await site.forget(stream or "")
    from legato.bus.base import StreamKey
    from legato.bus.erasure import erase_stream, erase_tenant
    from legato.bus.records import TENANT

    async with site.bus() as bus:
        if stream is not None:
            return await erase_stream(bus, StreamKey(tenant or TENANT, stream))
        return await erase_tenant(bus, tenant or TENANT)


def _counts(receipt: Receipt) -> dict[str, int]:
    import msgspec

    return msgspec.structs.asdict(receipt)
