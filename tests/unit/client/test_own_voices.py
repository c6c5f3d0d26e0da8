import http.server
import json
import threading
from collections.abc import Iterator
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import pytest

from legato.client.config import ClientConfig
from legato.client.own_voices import MAX_FILE_BYTES, OwnVoice, OwnVoices
from legato.errors import BadAudio, ConnectionLost, VoiceExists

VOICE = {
    "name": "小明",
    "own": True,
    "languages": ["zh", "en"],
    "gender": "male",
    "seconds": 5.25,
    "created": 1_796_000_000.5,
    "usable": True,
    "engine": "cosyvoice",
    "consent": {"statement": "yes", "given": 1_796_000_000.5},
}
KNOWN = OwnVoice(
    name="小明",
    languages=("zh", "en"),
    gender="male",
    seconds=5.25,
    created=1_796_000_000.5,
    usable=True,
    engine="cosyvoice",
    facts=VOICE,
)


class FakeServer(http.server.ThreadingHTTPServer):
    """Answers what the test wants, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Any = {}
        self.status = 200
        self.asked: list[tuple[str, str]] = []
        self.fields: dict[str, bytes] = {}

    @property
    def voices(self) -> OwnVoices:
        return OwnVoices(ClientConfig(url=f"ws://127.0.0.1:{self.server_port}"))


class Handler(http.server.BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(self.server.answer).encode())

    def do_DELETE(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            self.server.fields[str(name)] = content
        self.do_GET()

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


RECORDING = b"RIFF\r\n--legato\r\n" + bytes(range(256))


async def test_a_recording_is_sent_as_a_form(server: FakeServer, tmp_path: Path) -> None:
    server.answer = {"voice": VOICE}
    path = tmp_path / "小明.wav"
    path.write_bytes(RECORDING)
    for recording in (RECORDING, path, str(path)):
        voice = await server.voices.add(
            "小明",
            recording,
            consent=True,
            text="我说了这个。",
            languages=["zh", "en"],
            gender="male",
        )
        assert voice == KNOWN
        assert server.asked[-1] == ("POST", "/v1/voices")
        assert {name: value for name, value in server.fields.items() if name != "audio"} == {
            "name": "小明".encode(),
            "consent": b"true",
            "text": "我说了这个。".encode(),
            "language": b"zh,en",
            "gender": b"male",
        }
        assert server.fields["audio"] == RECORDING


async def test_what_the_server_refuses_is_told(server: FakeServer) -> None:
    server.status = 409
    server.answer = {"error": {"code": "voice_exists", "message": "choose another"}}
    with pytest.raises(VoiceExists, match="choose another"):
        await server.voices.add("anna", RECORDING, consent=False)
    assert server.fields["consent"] == b"false"


async def test_a_file_that_is_not_there_or_too_large_is_not_sent(
    server: FakeServer, tmp_path: Path
) -> None:
    with pytest.raises(BadAudio, match="No such file"):
        await server.voices.add("anna", tmp_path / "a.wav", consent=True)
    with (tmp_path / "b.wav").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(BadAudio, match="larger than 16 MiB"):
        await server.voices.add("anna", tmp_path / "b.wav", consent=True)
    assert server.asked == []


async def test_own_voices_are_listed_alone(server: FakeServer) -> None:
    server.answer = {"voices": [VOICE, {"name": "heart", "engine": "hibari"}]}
    assert await server.voices.list() == [KNOWN]


@pytest.mark.parametrize("count", [0, 1])
async def test_a_voice_is_removed(server: FakeServer, count: int) -> None:
    server.answer = {"erased": {"voices": count}}
    assert await server.voices.remove("小明/..") is bool(count)
    assert server.asked == [("DELETE", "/v1/voices/%E5%B0%8F%E6%98%8E%2F..")]


@pytest.mark.parametrize("answer", [{}, {"voices": [1]}, {"voices": [{}]}, {"voice": 1}, []])
async def test_who_is_no_legato_server_is_told(server: FakeServer, answer: Any) -> None:
    server.answer = answer
    with pytest.raises(ConnectionLost):
        await server.voices.list()
    with pytest.raises(ConnectionLost):
        await server.voices.remove("anna")
    with pytest.raises(ConnectionLost):
        await server.voices.add("anna", RECORDING, consent=True)
