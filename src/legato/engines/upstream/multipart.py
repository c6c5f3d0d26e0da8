"""Forms with files, as RFC 7578 has them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """A file of a form.

    Attributes:
        field: Name of its field.
        name: File name that the server sees; plain ASCII without quotes.
        media_type: Such as audio/wav.
        content: Its bytes.
    """

    field: str
    name: str
    media_type: str
    content: bytes


def encode(fields: Iterable[tuple[str, str]], files: Sequence[File] = ()) -> tuple[bytes, str]:
    """Return the body of a form and its content type.

    Args:
        fields: Names and values; a name may come more than once.
        files: Files.
    """
    boundary = f"legato-{secrets.token_hex(16)}"
    parts = []
    for name, value in fields:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        parts += [head.encode(), value.encode(), b"\r\n"]
    for file in files:
        head = (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="{file.field}"; filename="{file.name}"\r\n'
            f"Content-Type: {file.media_type}\r\n\r\n"
        )
        parts += [head.encode(), file.content, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"
