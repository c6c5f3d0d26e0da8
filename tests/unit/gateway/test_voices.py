import asyncio
import json
import logging
import wave
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, TypeVar

import pytest
from starlette.applications import Starlette
from starlette.types import Message

from legato.bus.forgetting import owner_of
from legato.bus.memory import MemoryBus
from legato.bus.records import FORGOTTEN_KIND, TENANT, EngineRecord, VoiceRecord
from legato.bus.voices import OwnVoices
from legato.errors import LegatoError, Unauthenticated
from legato.gateway.access import Access
from legato.gateway.administration import failed
from legato.gateway.catalog import Catalog
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import DEFAULT_TENANT, Identify, Identity, anyone
from legato.gateway.voices import STATEMENT, VoiceRoutes
from tests.unit.gateway.recordings import BOUNDARY, form, speech, wav
from tests.unit.gateway.stage import offer

NOW = 1_796_000_000.25
HERE = ("127.0.0.1", 5)
ELSEWHERE = ("203.0.113.9", 5)
GOOD = wav(speech(5.0))
COSYVOICE = EngineRecord(
    kind="synthesize",
    name="cosyvoice",
    voices=(VoiceRecord(name="demo", engine="cosyvoice", languages=("zh",)),),
    abilities=("cloning",),
    state="ready",
)
KEYS = {"sesame": "acme", "other": "others"}


def keyed(headers: Mapping[str, str], auth: str | None) -> Identity:
    if auth not in KEYS:
        raise Unauthenticated("show a key")
    return Identity(KEYS[auth], proven=True)


T = TypeVar("T")


class Site:
    """Routes on a memory bus."""

    def __init__(self, identify: Identify = anyone, **settings: Any) -> None:
        clock = asyncio.get_running_loop().time
        self.bus = MemoryBus()
        config = GatewayConfig(**settings)
        made = VoiceRoutes(
            self.bus,
            Catalog(self.bus.registry, clock),
            config,
            access=Access(config, identify),
            now=lambda: NOW,
            in_thread=self._at_once,
        )
        self.hangs = asyncio.Event()
        self.hangs.set()
        self._app = Starlette(routes=list(made.routes()), exception_handlers={LegatoError: failed})

    async def _at_once(self, work: Callable[[bytes], T], data: bytes, /) -> T:
        await self.hangs.wait()
        return work(data)

    async def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes = b"",
        *,
        client: tuple[str, int] | None = HERE,
        gone: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Have one request answered; returns status and what JSON or bytes came."""
        sent: list[Message] = []
        said = {"host": "127.0.0.1:8440", **(headers or {})}
        if body:
            said["content_type"] = f"multipart/form-data; boundary={BOUNDARY}"

        async def receive() -> Message:
            if gone:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "http_version": "1.1",
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in said.items()],
            "client": client,
        }
        await self._app(scope, receive, send)
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], json.loads(content) if content.startswith(b"{") else content

    async def add(
        self, name: str = "anna", file: bytes | None = GOOD, **more: str
    ) -> tuple[int, Any]:
        fields = {"name": name, "consent": "true", **more}
        return await self.ask("/v1/voices", "POST", form(file, **fields))

    async def refused(self, **fields: Any) -> tuple[int, str, str]:
        status, answer = await self.add(**fields)
        assert await OwnVoices(self.bus).list(DEFAULT_TENANT) == []
        assert await self.bus.blobs.list(DEFAULT_TENANT) == set()
        return status, answer["error"]["code"], answer["error"]["message"]


async def test_a_voice_is_kept_with_its_recording_and_its_speaker_s_consent() -> None:
    site = Site()
    status, answer = await site.add(text=" I said\n this. ", language="en, zh-CN", gender="female")
    assert status == 201
    assert answer["voice"] == {
        "name": "anna",
        "own": True,
        "languages": ["en", "zh-CN"],
        "gender": "female",
        "seconds": 5.0,
        "created": NOW,
        "has_text": True,
        "consent": {"statement": STATEMENT, "given": NOW},
        "usable": False,
    }
    voice = await OwnVoices(site.bus).find(DEFAULT_TENANT, "anna")
    assert voice is not None
    assert (voice.text, voice.consent.given) == ("I said this.", NOW)
    prompt = await OwnVoices(site.bus).prompt(DEFAULT_TENANT, voice)
    assert prompt is not None
    assert prompt.pcm == speech(5.0).tobytes()


async def test_own_voices_are_listed_before_those_of_engines() -> None:
    site = Site()
    await offer(site.bus, COSYVOICE)
    await site.add("小明")
    status, answer = await site.ask("/v1/voices")
    own, offered = answer["voices"]
    assert status == 200
    assert (own["name"], own["own"], own["usable"], own["engine"]) == (
        "小明",
        True,
        True,
        "cosyvoice",
    )
    assert offered == {"name": "demo", "engine": "cosyvoice", "languages": ["zh"]}


async def test_the_sample_is_the_recording() -> None:
    site = Site()
    await site.add("小明")
    status, content = await site.ask("/v1/voices/小明/sample")
    assert status == 200
    with wave.open(BytesIO(content)) as file:
        assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
        assert file.readframes(200_000) == speech(5.0).tobytes()


async def test_a_voice_of_an_engine_has_no_sample() -> None:
    site = Site()
    await offer(site.bus, COSYVOICE)
    status, answer = await site.ask("/v1/voices/demo/sample")
    assert (status, answer["error"]["code"]) == (404, "unknown_voice")
    assert "have it speak" in answer["error"]["message"]


async def test_a_voice_is_removed_with_a_receipt_and_workers_are_told() -> None:
    site = Site()
    await site.add()
    assert await site.ask("/v1/voices/anna", "DELETE") == (200, {"erased": {"voices": 1}})
    assert await site.bus.blobs.list(DEFAULT_TENANT) == set()
    assert owner_of(DEFAULT_TENANT) in await site.bus.registry.list(TENANT, FORGOTTEN_KIND)
    assert (await site.ask("/v1/voices/anna/sample"))[0] == 404
    assert await site.ask("/v1/voices/anna", "DELETE") == (200, {"erased": {"voices": 0}})


@pytest.mark.parametrize("consent", ["", "false", "yes", "1"])
async def test_without_consent_nothing_is_kept(consent: str) -> None:
    status, code, message = await Site().refused(consent=consent)
    assert (status, code) == (400, "consent_required")
    assert STATEMENT in message


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"name": ""}, "1 to 64 letters and digits"),
        ({"name": "a/b"}, "1 to 64 letters and digits"),
        ({"name": "x" * 65}, "1 to 64 letters and digits"),
        ({"gender": "diverse"}, "female or male"),
        ({"language": "klingon!"}, "a tag such as"),
        ({"language": ",".join(["en"] * 9)}, "a tag such as"),
        ({"text": "x" * 1_001}, "at most 1000 characters"),
        ({"text": "Hello <|endofprompt|>"}, "without control tokens"),
        ({"speed": "2"}, "no field 'speed'; there are: consent, gender"),
        ({"file": None}, "send it in the field audio"),
    ],
)
async def test_a_wrong_field_is_told(fields: dict[str, Any], cause: str) -> None:
    status, code, message = await Site().refused(**fields)
    assert (status, code) == (400, "malformed_message")
    assert cause in message


@pytest.mark.parametrize(
    ("file", "cause"),
    [(b"", "empty"), (b"hello" * 100, "text, not audio"), (wav(speech(2.0)), "record more")],
)
async def test_a_recording_that_will_not_do_is_told(file: bytes, cause: str) -> None:
    status, code, message = await Site().refused(file=file)
    assert (status, code) == (422, "bad_audio")
    assert cause in message


async def test_what_is_too_large_is_told() -> None:
    status, code, _ = await Site().refused(file=bytes(17 << 20))
    assert (status, code) == (413, "message_too_large")


async def test_a_name_is_taken_once() -> None:
    site = Site()
    await offer(site.bus, COSYVOICE)
    assert (await site.add())[0] == 201
    for name in ("anna", "demo"):
        status, answer = await site.add(name)
        assert (status, answer["error"]["code"]) == (409, "voice_exists")
    assert len(await OwnVoices(site.bus).list(DEFAULT_TENANT)) == 1


async def test_there_are_so_many_voices_and_no_more() -> None:
    site = Site(max_voices=1)
    assert (await site.add())[0] == 201
    status, answer = await site.add("bob")
    assert (status, answer["error"]["code"]) == (409, "too_many_voices")
    assert "gateway.max_voices" in answer["error"]["message"]
    assert (await Site(max_voices=0).refused())[1] == "too_many_voices"


async def test_so_many_recordings_are_taken_at_once_and_no_more() -> None:
    site = Site()
    site.hangs.clear()
    taken = [asyncio.create_task(site.add(name)) for name in ("a", "b")]
    await asyncio.sleep(1.0)
    status, answer = await site.add("c")
    assert (status, answer["error"]["code"]) == (503, "overloaded")
    site.hangs.set()
    assert [status for status, _ in await asyncio.gather(*taken)] == [201, 201]
    for _ in range(3):  # places of what was refused are free again
        assert (await site.add("d", b"no audio"))[0] == 422
    assert (await site.add("d"))[0] == 201


async def test_a_decoder_that_hangs_is_not_waited_for_and_keeps_its_place() -> None:
    site = Site()
    site.hangs.clear()
    for name in ("a", "b"):
        status, answer = await site.add(name)
        assert (status, answer["error"]["code"]) == (422, "bad_audio")
        assert "send it as WAV" in answer["error"]["message"]
    assert (await site.add("c"))[0] == 503
    site.hangs.set()
    await asyncio.sleep(1.0)
    assert (await site.add("c"))[0] == 201
    assert [voice.name for voice in await OwnVoices(site.bus).list(DEFAULT_TENANT)] == ["c"]


async def test_a_client_that_goes_away_gives_its_place_back() -> None:
    site = Site()
    for _ in range(3):
        assert (await site.ask("/v1/voices", "POST", b"x", gone=True))[0] == 400
    assert (await site.add())[0] == 201


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        (ELSEWHERE, {}),
        (HERE, {"x_forwarded_for": "203.0.113.9"}),
        (HERE, {"origin": "https://evil.example"}),
    ],
)
async def test_nobody_else_may_bring_remove_or_hear_a_voice(
    client: tuple[str, int], headers: dict[str, str]
) -> None:
    site = Site()
    await site.add()
    for path, method, body in (
        ("/v1/voices", "POST", form(GOOD, name="bob", consent="true")),
        ("/v1/voices/anna", "DELETE", b""),
        ("/v1/voices/anna/sample", "GET", b""),
    ):
        status, answer = await site.ask(path, method, body, client=client, headers=headers)
        assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert [voice.name for voice in await OwnVoices(site.bus).list(DEFAULT_TENANT)] == ["anna"]


async def test_each_key_has_its_own_voices() -> None:
    site = Site(keyed)
    mine, other = {"authorization": "Bearer sesame"}, {"authorization": "Bearer other"}
    body = form(GOOD, name="anna", consent="true")
    assert (await site.ask("/v1/voices", "POST", body, client=ELSEWHERE, headers=mine))[0] == 201
    assert len((await site.ask("/v1/voices", headers=mine))[1]["voices"]) == 1
    assert (await site.ask("/v1/voices", headers=other))[1]["voices"] == []
    assert (await site.ask("/v1/voices/anna/sample", headers=other))[0] == 404
    assert (await site.ask("/v1/voices/anna", "DELETE", headers=other))[1]["erased"]["voices"] == 0
    assert (await site.ask("/v1/voices"))[0] == 401


async def test_neither_name_nor_text_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    site = Site()
    with caplog.at_level(logging.DEBUG):
        await site.add("anna-private", text="A secret that is told to nobody.")
        await site.add("anna-private", text="A secret that is told to nobody.")
        await site.ask("/v1/voices/anna-private", "DELETE")
    assert "voice" in caplog.text
    assert "anna-private" not in caplog.text
    assert "secret" not in caplog.text
