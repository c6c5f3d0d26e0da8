"""A form with a file as HTTP brings it (RFC 7578), read within bounds of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from legato.errors import MalformedMessage, MessageTooLarge

MAX_BODY_BYTES: Final = 16 << 20
"""30 s of 48 kHz stereo with 32 bits take 11.5 MB."""

MAX_FIELD_BYTES: Final = 8_192
MAX_FIELDS: Final = 16

BODY_TIMEOUT: Final = 60.0
"""Seconds for a body to arrive: its bound at 2.2 Mbit/s."""


@dataclass(frozen=True, slots=True)
class Form:
    """What was sent.

    Attributes:
        fields: By name.
        file: Bytes of the one file, None if there is none.
    """

    fields: dict[str, str]
    file: bytes | None


class _Parser(MultiPartParser):
    spool_max_size = MAX_BODY_BYTES  # never on a disk: it is somebody's voice


async def read_form(request: Request, *, file: str, example: str) -> Form:
    """Read a request's form.

    Args:
        request: The request.
        file: Name of the field that holds the file.
        example: The options of curl that send such a form.

    Raises:
        MalformedMessage: If it is none, does not come in time, has a field twice or a file where
            there should be none.
        MessageTooLarge: If it is too large.
    """
    media_type = request.headers.get("content-type", "")
    if not media_type.lower().startswith("multipart/form-data"):
        raise MalformedMessage(f"send a form, as curl does with {example}")
    if (size := request.headers.get("content-length", "")).isdigit() and int(size) > MAX_BODY_BYTES:
        raise _too_large()
    parser = _Parser(
        request.headers,
        _bounded(request),
        max_files=1,
        max_fields=MAX_FIELDS,
        max_part_size=MAX_FIELD_BYTES,
    )
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            parsed = await parser.parse()
            try:
                return await _form(parsed.multi_items(), file)
            finally:
                await parsed.close()
    except MultiPartException as error:
        raise MalformedMessage(f"the form cannot be read: {error.message}") from error
    except TimeoutError as error:
        raise MalformedMessage(f"the form was not there after {BODY_TIMEOUT:g} s") from error


async def _bounded(request: Request) -> AsyncGenerator[bytes, None]:
    size_bytes = 0
    async for piece in request.stream():
        size_bytes += len(piece)
        if size_bytes > MAX_BODY_BYTES:
            raise _too_large()
        yield piece


async def _form(items: list[tuple[str, UploadFile | str]], file: str) -> Form:
    fields: dict[str, str] = {}
    content: bytes | None = None
    for name, value in items:
        if isinstance(value, UploadFile):
            if name != file:
                raise MalformedMessage(f"the file belongs in the field {file}")
            content = await value.read()
        elif name in fields or name == file:
            raise MalformedMessage(
                f"the field {file} takes a file, as -F {file}=@FILE of curl sends it"
                if name == file
                else f"the field {name[:64]} is there twice"
            )
        else:
            fields[name] = value
    return Form(fields, content)


def _too_large() -> MessageTooLarge:
    return MessageTooLarge(
        f"the form is larger than {MAX_BODY_BYTES >> 20} MiB; 30 s of one speaker take less in any"
        " format, even as WAV: cut the recording"
    )
