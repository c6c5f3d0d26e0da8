"""One task of DashScope's WebSocket: its envelope, its order of events, and its errors."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.websocket import Link

_CODES: Final = (
    ("InvalidApiKey", Kind.DENIED),
    ("Arrearage", Kind.DENIED),
    ("AccessDenied", Kind.DENIED),
    ("Model.AccessDenied", Kind.DENIED),
    ("Workspace.AccessDenied", Kind.DENIED),
    ("Throttling", Kind.BUSY),
    ("ModelNotFound", Kind.MISSING),
    ("ModelUnavailable", Kind.BUSY),
    ("RequestTimeOut", Kind.SLOW),
    ("InvalidParameter", Kind.UNFIT),
    ("InvalidURL", Kind.UNFIT),
    ("DataInspectionFailed", Kind.UNFIT),
    ("BadRequest", Kind.UNFIT),
    ("CLIENT_ERROR", Kind.UNFIT),
)
"""What a code of `task-failed` begins with and what it means; any other is the service's fault."""


@dataclass(frozen=True, slots=True)
class Event:
    """What the service says of a task.

    Attributes:
        name: `task-started`, `result-generated` or `task-finished`.
        output: Of its payload.
        usage: Of its payload.
    """

    name: str
    output: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)


class Task:
    """A task on a connection; one at a time.

    Args:
        link: The connection.
        secret: The key, to be kept out of messages.
    """

    def __init__(self, link: Link, secret: Secret) -> None:
        self._link = link
        self._secret = secret
        self._id = uuid.uuid4().hex
        self._started = False
        self.finished = False

    def start(self, payload: Mapping[str, Any], deadline: float) -> None:
        """Begin, and wait until the service is ready for data.

        Args:
            payload: Of `run-task`.
            deadline: Instant (`time.monotonic`) by which it must be.

        Raises:
            Fault: If it is not.
        """
        self._send("run-task", payload)
        while not self._started:
            self.receive(deadline - time.monotonic(), Kind.SLOW)

    def proceed(self, entered: Mapping[str, Any]) -> None:
        """Send more input."""
        self._send("continue-task", {"input": entered})

    def finish(self) -> None:
        """Say that no more input comes."""
        self._send("finish-task", {"input": {}})

    def send(self, data: bytes) -> None:
        """Send audio.

        Raises:
            Fault: If the connection is lost.
        """
        self._deliver(data)

    def receive(self, timeout: float, late: Kind | None) -> Event | bytes | None:
        """Return what comes next.

        Args:
            timeout: Seconds to wait.
            late: What it is if nothing comes; None returns None then.

        Raises:
            Fault: If the task failed, the connection is lost, or events come in an order that
                makes no sense.
        """
        message = self._link.receive(timeout)
        if message is None:
            if late is None:
                return None
            raise Fault(late, "the upstream did not go on in time")
        if isinstance(message, str):
            return self._event(message)
        if not self._started or self.finished:
            raise Fault(Kind.BROKEN, "the upstream sends audio of no task")
        return message

    def _event(self, message: str) -> Event | None:
        header, payload = _parsed(message)
        name = header.get("event")
        if header.get("task_id") != self._id:
            raise Fault(Kind.BROKEN, "the upstream answers another task")
        if name == "task-failed":
            raise _failed(header, self._secret)
        if (name == "task-started") is self._started or self.finished:
            raise Fault(Kind.BROKEN, f"the upstream sends {str(name)[:40]!r} out of order")
        self._started = True
        self.finished = name == "task-finished"
        return Event(str(name), _object(payload, "output"), _object(payload, "usage"))

    def _send(self, action: str, payload: Mapping[str, Any]) -> None:
        header = {"action": action, "task_id": self._id, "streaming": "duplex"}
        self._deliver(msgspec.json.encode({"header": header, "payload": payload}).decode())

    def _deliver(self, message: str | bytes) -> None:
        try:
            self._link.send(message)
        except Fault:
            # It may have said why before it closed: then that is raised.
            while self.receive(0.0, None) is not None:
                pass
            raise


def _parsed(message: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        body = msgspec.json.decode(message)
    except msgspec.DecodeError as error:
        raise Fault(Kind.BROKEN, "the upstream sends text that is no JSON") from error
    body = body if isinstance(body, dict) else {}
    return _object(body, "header"), _object(body, "payload")


def _object(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _failed(header: Mapping[str, Any], secret: Secret) -> Fault:
    code = str(header.get("error_code") or "unknown")[:60]
    kind = next((kind for start, kind in _CODES if code.startswith(start)), Kind.BROKEN)
    words = secret.scrubbed(str(header.get("error_message") or ""))
    return Fault(kind, f"the upstream's task failed with {code}", words=words)
