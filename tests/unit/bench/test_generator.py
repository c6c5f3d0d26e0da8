import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from legato.bench.generator import Begun, Generator, Outcome, Plan

pytestmark = pytest.mark.integration


@contextmanager
def serving(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    with serve(talk, "127.0.0.1", 0, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def run(address: str, begun: list[Begun], *, drain: float = 5.0) -> Outcome:
    plan = Plan(
        address=address,
        dialect="plain",
        users=4,
        interval=0.05,
        seconds=0.5,
        warm_up=0.1,
        drain=drain,
    )
    return Generator(plan, begun.append).run()


def test_each_user_sends_a_chunk_each_interval_and_all_are_answered() -> None:
    def echo(connection: ServerConnection) -> None:
        for message in connection:
            connection.send(message)

    begun: list[Begun] = []
    with serving(echo) as address:
        outcome = run(address, begun)
    assert (outcome.sent, outcome.lost, outcome.faults) == (40, 0, [])
    # What is due in the warm-up does not count.
    assert len(outcome.latencies) == len(outcome.lateness) == 32
    assert min(outcome.latencies) > 0
    assert begun[0].end - begun[0].counted_from == pytest.approx(0.4)


def test_what_is_not_answered_is_lost() -> None:
    def swallow_every_other(connection: ServerConnection) -> None:
        for number, message in enumerate(connection):
            if number % 2:
                connection.send(message)

    with serving(swallow_every_other) as address:
        outcome = run(address, [], drain=0.2)
    assert (outcome.sent, outcome.lost) == (40, 20)


def test_a_connection_that_breaks_is_told_and_its_chunks_are_lost() -> None:
    def leave(connection: ServerConnection) -> None:
        connection.recv()
        connection.close(1011, "out of order")

    with serving(leave) as address:
        outcome = run(address, [], drain=0.2)
    assert (outcome.sent, outcome.lost) == (40, 40)
    assert outcome.faults == ["ConnectionResetError: out of order"] * 4
