import pytest

from legato.bench.fleet import Cluster, Lease, Worker
from legato.bench.process import ServerFailed
from legato.bench.worker_loss import Loss, rows_of, victim


def cluster(*held: tuple[str, str]) -> Cluster:
    return Cluster(
        workers=(Worker(name="w1", pid=11), Worker(name="w2", pid=12)),
        leases=tuple(Lease(stream_id=stream, worker=name) for stream, name in held),
    )


def test_the_worker_that_holds_more_of_the_streams_is_killed() -> None:
    picture = cluster(("a", "w1"), ("b", "w2"), ("c", "w2"), ("x", "w1"), ("y", "w1"))
    assert victim(picture, {"a", "b", "c"}) == (12, {"b", "c"})


def test_leases_of_a_worker_that_is_gone_kill_nobody() -> None:
    with pytest.raises(ServerFailed, match="holds a stream"):
        victim(cluster(("a", "w0")), {"a"})


def test_the_slowest_stream_counts_and_the_notes_tell_of_both_kinds() -> None:
    losses = [
        Loss("echo", 1.5, 0.0, 2.0),
        Loss("synthesize", 2.0, 0.25, 1.75),
        Loss("echo", 1.75, 0.0, 2.0),
    ]
    moving, silence, wrong = rows_of(losses, wrong=3, streams=8, rounds=2, busy=0.5)
    assert (moving.name, moving.value, moving.ok, moving.n) == ("worker.killed.moving", 2, True, 3)
    assert "2 of echo: 1.75 s, 1 of synthesize: 2.00 s" in moving.note
    assert (silence.value, silence.ok) == (0.25, True)
    assert "(1.75 to 2.00 s when it happened)" in silence.note
    assert (wrong.value, wrong.ok, wrong.n) == (3, False, 8)
