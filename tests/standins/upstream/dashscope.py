"""DashScope's WebSocket service: speech both ways, strict about its order, with its faults."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from tests.standins.upstream.sound import as_pcm, spoken

BLOCK = 0.1
LOUD = 300.0
MARKS = "。！？.!?"
FRAME_BYTES = 4_001


@dataclass
class Trouble:
    """How one task goes wrong.

    Attributes:
        before_start: Messages instead of task-started; `{id}` is the task's.
        fail: Code and message of a `task-failed`, sent instead of the first audio.
        mute: Whether no audio is sent, though the task finishes.
        close_after: Binary frames after which the connection is closed without a word.
        hang_after: Binary frames after which nothing more comes.
        gone: Whether the connection ends as soon as the task is wanted.
        old: Whether only binary frames and `task-finished` are sent, and a flush means nothing.
    """

    before_start: tuple[str | bytes, ...] = ()
    fail: tuple[str, str] | None = None
    mute: bool = False
    close_after: int | None = None
    hang_after: int | None = None
    old: bool = False
    gone: bool = False


class Gone(Exception):
    """The stand-in ends the connection."""


class DashScope:
    """The service on a free port of the loopback.

    Attributes:
        troubles: Of the next tasks, one each.
        tasks: Payloads of `run-task`.
        texts: Text of all `continue-task`.
        connections: How many were opened.
        links: All of them.
        refusals: Status and headers of the next handshakes.
        closed: Released for each that ends.
    """

    def __init__(self, key: str = "sk-secret") -> None:
        self.troubles: deque[Trouble] = deque()
        self.refusals: deque[tuple[int, dict[str, str]]] = deque()
        self.tasks: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.connections = 0
        self.links: set[ServerConnection] = set()
        self.closed = threading.Semaphore(0)
        self._key = key
        self._over = threading.Event()
        quiet = logging.getLogger("tests.standins.upstream.dashscope")
        quiet.setLevel(logging.CRITICAL)
        self._server = serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._admit,
            compression=None,
            logger=quiet,
        )
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/api-ws/v1/inference"

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()

    def _admit(self, link: ServerConnection, request: Request) -> Response | None:
        if self.refusals:
            status, headers = self.refusals.popleft()
            answer = link.respond(HTTPStatus(status), "no")
            for name, value in headers.items():
                answer.headers[name] = value
            return answer
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            body = {"code": "InvalidApiKey", "message": "Invalid API-key provided."}
            return link.respond(HTTPStatus.UNAUTHORIZED, json.dumps(body))
        return None

    def _serve(self, link: ServerConnection) -> None:
        self.connections += 1
        self.links.add(link)
        try:
            while True:
                self._task(link)
        except (ConnectionClosed, Gone):
            link.socket.close()
            self.closed.release()

    def _task(self, link: ServerConnection) -> None:
        message = json.loads(link.recv())
        trouble = self.troubles.popleft() if self.troubles else Trouble()
        payload = message["payload"]
        task = Conversation(link, message["header"]["task_id"], trouble, self._over)
        if message["header"]["action"] != "run-task" or "Authorization" in payload:
            task.fail("CLIENT_ERROR", "task can not be null")
        if trouble.gone:
            raise Gone
        self.tasks.append(payload)
        for one in trouble.before_start:
            link.send(one.replace("{id}", task.id) if isinstance(one, str) else one)
        task.tell("task-started", {})
        if payload["task"] == "tts":
            Speaking(task, payload["parameters"], self.texts).run()
        else:
            Listening(task, payload["parameters"]).run()


@dataclass
class Conversation:
    """The envelope of one task."""

    link: ServerConnection
    id: str
    trouble: Trouble
    over: threading.Event
    frames: int = 0

    def tell(self, event: str, payload: dict[str, Any], **more: str) -> None:
        header = {"task_id": self.id, "event": event, "attributes": {}, **more}
        self.link.send(json.dumps({"header": header, "payload": payload}))

    def fail(self, code: str, message: str) -> None:
        self.tell("task-failed", {}, error_code=code, error_message=message)
        raise Gone

    def sound(self, pcm: bytes) -> None:
        if self.frames == self.trouble.close_after:
            raise Gone
        if self.frames == self.trouble.hang_after:
            self.over.wait(5)
            raise Gone
        self.frames += 1
        self.link.send(pcm)

    def next(self) -> tuple[str, dict[str, Any]] | bytes:
        message = self.link.recv()
        if isinstance(message, bytes):
            return message
        body = json.loads(message)
        if body["header"]["task_id"] != self.id:
            self.fail("CLIENT_ERROR", "unknown task")
        return body["header"]["action"], body["payload"]["input"]


class Speaking:
    """A task of synthesis."""

    def __init__(self, task: Conversation, parameters: dict[str, Any], texts: list[str]) -> None:
        self._task = task
        self._parameters = parameters
        self._texts = texts
        self._buffer = ""
        self._index = 0
        self._charged = 0

    def run(self) -> None:
        while True:
            message = self._task.next()
            assert not isinstance(message, bytes)
            action, entered = message
            if action == "finish-task":
                self._speak(self._buffer)
                self._task.tell("task-finished", {"usage": {"characters": self._charged}})
                return
            assert action == "continue-task"
            if "text" in entered:
                self._texts.append(entered["text"])
                self._buffer += entered["text"]
                cut = max(self._buffer.rfind(mark) + 1 for mark in MARKS)
                self._speak(self._buffer[:cut])
                self._buffer = self._buffer[cut:]
            if entered.get("flush") and not self._task.trouble.old:
                self._speak(self._buffer)
                self._buffer = ""

    def _speak(self, text: str) -> None:
        task, trouble = self._task, self._task.trouble
        if not text.strip() or trouble.mute:
            return
        if trouble.fail is not None:
            task.fail(*trouble.fail)
        if self._parameters["voice"] not in ("longxiaochun_v2", "longwan_v2"):
            task.fail("InvalidParameter", "voice not found")
        sentence = {"index": self._index, "words": []}
        self._result({"type": "sentence-begin", "sentence": sentence, "original_text": text})
        rate_hz, speed = self._parameters["sample_rate"], self._parameters["rate"]
        pcm = as_pcm(spoken(text, rate_hz, speed))
        for at in range(0, len(pcm), FRAME_BYTES):
            self._result({"type": "sentence-synthesis", "sentence": sentence})
            task.sound(pcm[at : at + FRAME_BYTES])
        self._charged += sum(2 if "\u4e00" <= char <= "\u9fff" else 1 for char in text)
        self._index += 1
        self._result({"type": "sentence-end", "sentence": sentence}, characters=self._charged)

    def _result(self, output: dict[str, Any], **usage: int) -> None:
        if not self._task.trouble.old:
            self._task.tell("result-generated", {"output": output, "usage": usage})


@dataclass
class Listening:
    """A task of recognition: what is loud is a sentence."""

    task: Conversation
    parameters: dict[str, Any]
    heard: int = 0
    number: int = 0
    begin: int | None = None
    quiet: int = 0
    rest: bytes = b""
    words: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> None:
        while True:
            message = self.task.next()
            if isinstance(message, bytes):
                self._hear(message)
            elif message[0] == "finish-task":
                self._end()
                self.task.tell("task-finished", {"output": {}, "usage": None})
                return

    def _hear(self, data: bytes) -> None:
        if self.task.trouble.fail is not None:
            self.task.fail(*self.task.trouble.fail)
        data = self.rest + data
        size = round(BLOCK * self.parameters["sample_rate"]) * 2
        while len(data) >= size:
            self._block(np.frombuffer(data[:size], "<i2").astype(np.float64))
            data = data[size:]
        self.rest = data

    def _block(self, samples: np.ndarray) -> None:
        loud = float(np.sqrt(np.mean(np.square(samples)))) > LOUD
        now = self.heard
        self.heard += round(BLOCK * 1000)
        if loud and self.begin is None:
            self.begin, self.number, self.words = now, self.number + 1, []
        if self.begin is None:
            return
        if loud:
            word = {"begin_time": now, "end_time": self.heard, "text": "la", "punctuation": ""}
            self.words.append(word | {"fixed": True})
        self.quiet = 0 if loud else self.quiet + round(BLOCK * 1000)
        if self.quiet >= self.parameters.get("max_sentence_silence", 1_300):
            self._end()
        elif len(self.words) % 3 == 0:
            self._tell(None)

    def _end(self) -> None:
        if self.begin is not None:
            self._tell(self.heard - self.quiet)
        self.begin, self.quiet = None, 0

    def _tell(self, end: int | None) -> None:
        sentence = {
            "sentence_id": self.number,
            "begin_time": self.begin,
            "end_time": end,
            "text": " ".join("la" for _ in self.words),
            "sentence_end": end is not None,
            "words": self.words,
        }
        gummy = "transcription_enabled" in self.parameters
        if gummy:
            output = {"transcription": {**sentence, "current_time": self.heard}}
        else:
            output = {"sentence": {**sentence, "heartbeat": False}}
        usage = None if end is None else {"duration": 1}
        self.task.tell("result-generated", {"output": output, "usage": usage})
