import json

import pytest

from legato.engines.upstream.dashscope_task import Task
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.websocket import Link


class ClosedLink(Link):
    """A connection that the service has closed, having said something before."""

    def __init__(self) -> None:
        self.open = True
        self.task = ""
        self.said: list[tuple[str, dict[str, str]]] = []

    def send(self, message: str | bytes) -> None:
        if not self.open:
            raise Fault(Kind.BROKEN, "the connection to the upstream broke off")
        self.task = json.loads(message)["header"]["task_id"]

    def receive(self, timeout: float) -> str | bytes | None:
        if not self.said:
            raise Fault(Kind.BROKEN, "the connection to the upstream broke off")
        name, more = self.said.pop(0)
        header = {"event": name, "task_id": self.task, **more}
        return json.dumps({"header": header, "payload": {}})


def begun(link: ClosedLink) -> Task:
    task = Task(link, Secret())
    link.said.append(("task-started", {}))
    task.start({}, deadline=0.0)
    link.open = False
    return task


def test_why_a_task_failed_is_told_although_the_connection_is_closed() -> None:
    link = ClosedLink()
    task = begun(link)
    reason = {"error_code": "ModelNotFound", "error_message": "no"}
    link.said += [("result-generated", {}), ("task-failed", reason)]
    with pytest.raises(Fault, match="ModelNotFound") as caught:
        task.proceed({"text": "Hi."})
    assert caught.value.kind is Kind.MISSING


def test_a_connection_that_closed_without_a_word_is_lost() -> None:
    task = begun(ClosedLink())
    with pytest.raises(Fault, match="broke off"):
        task.finish()
