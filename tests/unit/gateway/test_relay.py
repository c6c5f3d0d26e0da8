import asyncio
import math
from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry

from legato.bus.base import Committed, Direction, Restart, StreamKey
from legato.bus.memory import MemoryBus
from legato.errors import SessionExpired
from legato.flow.digest import Chain
from legato.flow.places import DownPlace, UpPlace
from legato.gateway.notes import DownNote, UpNote, down_note, up_note
from legato.gateway.relay import MAX_STRUCK, Relay
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Error,
    Notice,
    NumberedMessage,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.session.server_stream import ServerStream
from legato.telemetry.metrics import REGISTRY
from tests.unit.gateway.neighbours import SharedMemoryBus
from tests.unit.gateway.stage import FORMAT, FRAME, Job, echo

KEY = StreamKey("default", "s")


class Hearing:
    """A connection that notes what it is told."""

    def __init__(self) -> None:
        self.woken = 0
        self.errors: list[str] = []
        self.notices: list[str] = []

    def wake(self) -> None:
        self.woken += 1

    def pass_error(self, stream: ServerStream, message: Error) -> None:
        self.errors.append(message.code)

    def pass_notice(self, stream: ServerStream, message: Notice) -> None:
        self.notices.append(message.kind)

    def replaced(self, relay: Relay) -> None:
        raise AssertionError("nobody resumes here")


class Scene:
    """A relay between a memory bus and a listener."""

    async def open(self, kind: type[MemoryBus] = MemoryBus) -> "Scene":
        self.bus = kind(clock=asyncio.get_running_loop().time)
        await self.bus.logs.create(KEY, ttl=600.0)
        self.listener = Hearing()
        self.moved = 0
        self.taken: list[Relay] = []
        self.owing: list[Relay] = []
        self.stream = ServerStream(echo(), FORMAT)
        self.relay = Relay(
            self.bus,
            KEY,
            self.stream,
            moved=self._note_moved,
            owing=self.owing.append,
            taken=self.taken.append,
        )
        self.relay.listener = self.listener
        self.relay.follow()
        self.job = Job(self.bus, KEY)
        return self

    def _note_moved(self, relay: Relay) -> None:
        self.moved += 1

    def push(self, items: Sequence[AudioFrame | NumberedMessage]) -> None:
        """Take entries from a client, and write them to the log."""
        for item in items:
            self.stream.take(item.seq, item, 0.0)
        self.relay.push(self.stream.take_for_log())

    def acknowledge(self, seq: int) -> None:
        """Send all there is, and have the client hold it up to `seq`."""
        now = asyncio.get_running_loop().time()
        self.stream.out.set_rate(math.inf, now)
        self.stream.take_frames([], now, room_bytes=1_000_000)
        self.stream.out.acknowledge(seq, seq, now)
        self.relay.acknowledged()

    def trims(self) -> dict[Direction, int]:
        """Up to where the logs can be trimmed."""
        return {direction: upto for direction, (upto, _) in self.relay.take_trims().items()}


async def turn() -> None:
    await asyncio.sleep(0.001)


async def test_entries_of_a_turn_wake_the_listener_once() -> None:
    scene = await Scene().open()
    scene.job.play(5)
    await turn()
    assert scene.listener.woken == 1
    assert scene.stream.out.queued == 5


async def test_what_is_pushed_is_stored_and_acknowledged() -> None:
    scene = await Scene().open()
    scene.push([Text(stream=1, seq=0, text="a"), Text(stream=1, seq=1, text="b")])
    entries = await scene.bus.logs.read(KEY, Direction.UP)
    assert len(entries) == 1


async def test_an_ack_of_audio_waits_for_company_and_one_of_text_does_not() -> None:
    scene = await Scene().open(SharedMemoryBus)
    scene.push([AudioFrame(FRAME, 0)])
    await turn()
    assert (scene.owing, scene.listener.woken) == ([scene.relay], 0)
    scene.push([Text(stream=1, seq=1, text="a")])
    await turn()
    assert (len(scene.owing), scene.listener.woken) == (1, 1)


async def test_who_is_reminded_of_an_ack_sends_it_unless_that_is_done() -> None:
    scene = await Scene().open(SharedMemoryBus)
    scene.push([AudioFrame(FRAME, 0)])
    await turn()
    scene.relay.remind(0.0)
    assert scene.listener.woken == 1
    scene.stream.take_ack(0.0)
    scene.relay.remind(0.0)
    assert scene.listener.woken == 1
    scene.push([AudioFrame(FRAME, 1)])
    await turn()
    scene.relay.listener = None
    scene.relay.remind(0.0)
    assert scene.listener.woken == 1


async def test_up_is_trimmed_to_what_no_worker_needs() -> None:
    scene = await Scene().open()
    for seq in range(4):
        scene.push([AudioFrame(FRAME, seq)])
    scene.job.write(Committed(2, upto=960))
    await turn()
    assert scene.moved == 1
    assert scene.trims() == {Direction.UP: 3}
    assert scene.trims() == {}


async def test_up_is_kept_from_where_another_worker_would_begin() -> None:
    scene = await Scene().open()
    for seq in range(4):
        scene.push([AudioFrame(FRAME, seq)])
    scene.job.write(Committed(3, upto=960, restart=Restart(2)))
    await turn()
    assert scene.trims() == {Direction.UP: 2}


async def test_an_entry_is_trimmed_when_all_of_it_is_done_with() -> None:
    scene = await Scene().open()
    scene.push([AudioFrame(FRAME, 0), AudioFrame(FRAME, 1)])
    scene.job.write(Committed(0))
    await turn()
    assert scene.trims() == {}
    scene.job.write(Committed(1))
    await turn()
    assert scene.trims() == {Direction.UP: 1}


async def test_down_is_trimmed_to_what_is_acknowledged_and_stays_from_the_last_mark_on() -> None:
    scene = await Scene().open()
    scene.job.play(30, mark=True)  # entries 1 to 30, each with a mark
    scene.job.play(30, first=30)  # 31 to 60
    await turn()
    scene.acknowledge(50)
    assert scene.trims() == {Direction.DOWN: 29}
    scene.job.play(1, first=60, mark=True)
    await turn()
    assert scene.trims() == {Direction.DOWN: 48}  # where the digest is known, every 16 frames


async def test_a_note_tells_what_was_trimmed() -> None:
    scene = await Scene().open()
    scene.push([AudioFrame(FRAME, 0), AudioFrame(FRAME, 1)])
    scene.job.play(17, mark=True)
    scene.job.write(Committed(1, upto=640))
    await turn()
    scene.acknowledge(16)
    for direction, (upto, note) in scene.relay.take_trims().items():
        await scene.bus.logs.trim(KEY, direction, upto=upto, note=note)
    notes = await scene.bus.logs.notes(KEY)
    assert up_note(notes) == UpNote(entry=1, place=UpPlace(1, 640, 0, 0, True))
    chain = Chain()
    for _ in range(16):
        chain.update(FRAME)
    place = DownPlace(15, 16 * 320, 16, chain.digest)
    assert down_note(notes) == DownNote(entry=16, read=18, place=place)


async def test_who_was_replaced_as_writer_lets_go() -> None:
    scene = await Scene().open()
    scene.push([AudioFrame(FRAME, 0)])
    await scene.bus.logs.writer(KEY, Direction.UP, fence=1).settle()
    await turn()
    assert scene.taken == [scene.relay]
    assert scene.listener.errors == []


async def test_without_a_mark_down_stays_whole() -> None:
    scene = await Scene().open()
    scene.job.play(5)
    await turn()
    scene.acknowledge(4)
    assert scene.trims() == {}


async def test_the_numbered_entry_before_a_mark_on_its_own_stays() -> None:
    scene = await Scene().open()
    scene.job.play(16)
    scene.job.write(Committed(-1))
    await turn()
    scene.acknowledge(15)
    assert scene.trims() == {Direction.DOWN: 15}


async def test_a_mark_before_all_entries_holds_nothing_up() -> None:
    scene = await Scene().open()
    scene.job.write(Committed(-1))
    await turn()
    scene.acknowledge(-1)
    assert scene.trims() == {}


async def test_all_that_a_worker_writes_is_relayed() -> None:
    scene = await Scene().open()
    scene.job.write(
        AudioFrame(FRAME, 0, last=True),
        UtteranceEnd(seq=1, utterance=0, reason="done"),
        Transcript(seq=2, kind="final", text="hello"),
        Notice(kind="queued"),
    )
    await turn()
    assert scene.stream.out.queued == 3
    assert scene.listener.notices == ["queued"]


async def test_the_last_word_waits_for_a_client_that_is_away_and_news_do_not() -> None:
    scene = await Scene().open()
    scene.relay.listener = None
    scene.job.write(Notice(kind="queued"), Error(code="engine_failed"))
    await turn()
    assert scene.relay.fault is not None
    assert scene.relay.fault.code == "engine_failed"
    assert scene.listener.woken == 0


async def test_a_log_that_is_gone_is_the_last_word() -> None:
    scene = await Scene().open()
    await scene.bus.logs.delete(KEY)
    await turn()
    assert scene.listener.errors == [SessionExpired.code]


async def test_a_closed_relay_hears_no_more() -> None:
    scene = await Scene().open()
    scene.relay.close()
    scene.job.play(1)
    await turn()
    assert scene.listener.woken == 0


def seconds(registry: CollectorRegistry, direction: str) -> float:
    return registry.get_sample_value("legato_audio_seconds_total", {"direction": direction}) or 0.0


async def test_audio_is_counted_in_seconds_each_way() -> None:
    scene = await Scene().open()
    before = [seconds(REGISTRY, direction) for direction in ("up", "down")]
    scene.job.play(50)
    await turn()
    sent: list[str | bytes] = []
    scene.stream.take_frames(sent, asyncio.get_running_loop().time(), room_bytes=1_000_000)
    assert len(sent) == 50
    scene.stream.received_upto = 32_000
    scene.relay.count_audio()
    scene.relay.count_audio()
    after = [seconds(REGISTRY, direction) for direction in ("up", "down")]
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([2.0, 1.0])


async def test_more_cancels_than_a_note_holds_wait_for_their_ends() -> None:
    scene = await Scene().open()
    count = MAX_STRUCK + 1
    for number in range(count):
        cancel = Cancel(stream=1, seq=2 * number + 1, utterance=number)
        scene.push([Text(stream=1, seq=2 * number, text="a"), cancel])
    scene.job.write(Committed(2 * count - 1))
    await turn()
    assert scene.trims() == {}
    for number in range(count):
        scene.job.write(UtteranceEnd(seq=number, utterance=number, reason="cancelled"))
    scene.job.write(Committed(2 * count - 1))
    await turn()
    scene.acknowledge(count - 1)
    assert scene.trims() == {Direction.DOWN: count}
    assert scene.trims() == {Direction.UP: count}


async def test_an_utterance_of_packets_may_end_within_its_last_one() -> None:
    scene = await Scene().open()
    stream = ServerStream(echo(codec="opus"), FORMAT)
    relay = Relay(
        scene.bus, KEY, stream, moved=lambda _: None, owing=lambda _: None, taken=lambda _: None
    )
    scene.relay.close()
    relay.listener = scene.listener
    relay.follow()
    job = scene.bus.logs.writer(KEY, Direction.DOWN, fence=1)
    job.append(
        [
            AudioFrame(b"packet", 0),
            AudioFrame(b"packet", 1, True, sample=320),
            UtteranceEnd(seq=2, utterance=0, reason="done", sample=400),
        ]
    )
    job.append([AudioFrame(b"packet", 3, sample=400, utterance=1)])
    await asyncio.sleep(0)
    assert scene.listener.errors == []
    assert stream.out.queued == 4
