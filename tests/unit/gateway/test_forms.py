import asyncio
from collections.abc import Iterable

import pytest
from starlette.requests import Request
from starlette.types import Message

from legato.errors import LegatoError, MalformedMessage, MessageTooLarge
from legato.gateway import forms
from legato.gateway.forms import MAX_BODY_BYTES, Form, read_form
from tests.unit.gateway.recordings import BOUNDARY, form

MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def request(pieces: Iterable[bytes], media_type: str = MULTIPART, **headers: str) -> Request:
    waiting = [*pieces]

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        piece = waiting.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(waiting) or piece == b""}

    pairs = [(b"content-type", media_type.encode())]
    pairs += [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": pairs}, receive)


async def read(body: bytes, *, size: int = 1_000, media_type: str = MULTIPART) -> Form:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return await read_form(request(pieces, media_type), file="audio", example="-F audio=@a.wav")


async def refusal(body: bytes, media_type: str = MULTIPART) -> LegatoError:
    with pytest.raises(LegatoError) as caught:
        await read(body, media_type=media_type)
    return caught.value


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_fields_and_the_file_are_read_however_they_come(size: int) -> None:
    content = bytes(range(256)) * 8
    body = form(content, name="小明", text="He said: 50 %.")
    assert await read(body, size=size) == Form({"name": "小明", "text": "He said: 50 %."}, content)


async def test_a_file_need_not_be_there() -> None:
    assert await read(form(None, name="anna")) == Form({"name": "anna"}, None)


@pytest.mark.parametrize("media_type", ["audio/wav", "application/x-www-form-urlencoded", ""])
async def test_what_is_no_form_is_told_how_to_send_one(media_type: str) -> None:
    error = await refusal(b"RIFF", media_type=media_type)
    assert isinstance(error, MalformedMessage)
    assert "-F audio=@a.wav" in error.message


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (form(b"x", field="file"), "belongs in the field audio"),
        (form(None, audio="RIFF"), "takes a file"),
        (form(None, a="1") [:-len(f"--{BOUNDARY}--\r\n")] + form(None, a="2"), "a is there twice"),
        (form(b"x")[: -len(f"--{BOUNDARY}--\r\n")] + form(b"y"), "Too many files"),
        (form(None, **{f"f{n}": "x" for n in range(20)}), "Too many fields"),
        (form(None, text="x" * 10_000), "Part exceeded maximum size"),
        (b"--other\r\n\r\n", "cannot be read"),
    ],
)  # fmt: skip
async def test_a_form_that_is_wrong_is_told(body: bytes, cause: str) -> None:
    error = await refusal(body)
    assert isinstance(error, MalformedMessage)
    assert cause in error.message


async def test_a_form_without_a_boundary_is_told() -> None:
    error = await refusal(form(b"x"), media_type="multipart/form-data")
    assert "boundary" in error.message


async def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    asked = request([], content_length=str(MAX_BODY_BYTES + 1))
    with pytest.raises(MessageTooLarge, match=r"larger than 16 MiB.*cut the recording"):
        await read_form(asked, file="audio", example="")


async def test_a_body_that_is_too_large_is_read_no_further() -> None:
    pieces = iter([form(bytes(100))[:-20], *[bytes(1 << 20)] * 17, b"never read"])
    asked = request(pieces)
    with pytest.raises(MessageTooLarge):
        await read_form(asked, file="audio", example="")


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "BODY_TIMEOUT", 0.01)
    with pytest.raises(MalformedMessage, match="not there after"):
        await read_form(request([b""]), file="audio", example="")
