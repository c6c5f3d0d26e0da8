"""Where a stream stands, read from its down log, so that a worker can go on with another's work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from legato.bus.base import Committed, Direction, Item, Logs, Restart, StreamKey
from legato.errors import ResumeGap
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Error,
    StreamEnd,
    StreamStart,
    SwitchUp,
    Transcript,
    UtteranceEnd,
)


class GivenBack(Exception):
    """This worker stops here, of its own will, and another can go on."""


@dataclass(slots=True)
class Standing:
    """What the down log holds; fresh, it is that of a stream that nobody has worked on.

    Attributes:
        seq: Number of the next entry.
        sample: Position of the next sample.
        utterance: Number of the utterance to go on with.
        sounding: Whether frames of it are there.
        committed: The last mark.
        samples_since: Samples behind that mark.
        entries_since: Numbered entries behind it.
        over: Whether the last word is said.
    """

    seq: int = 0
    sample: int = 0
    utterance: int = 0
    sounding: bool = False
    committed: Committed = field(default_factory=lambda: Committed(-1))
    samples_since: int = 0
    entries_since: int = 0
    over: bool = False

    @property
    def first_seq(self) -> int:
        """First up entry that is not done with."""
        return self.committed.trim_seq + 1

    @property
    def is_open(self) -> bool:
        """Whether an utterance has begun that has not ended."""
        return self.committed.restart is not None or self.sounding or self.entries_since > 0

    def note(self, item: Item, sample_bytes: int, packet_samples: int = 0) -> None:
        """Take account of the next item of the log.

        Args:
            item: The next.
            sample_bytes: Bytes of a sample over all channels; 0 where a payload is a packet.
            packet_samples: Samples of a packet.
        """
        self.entries_since += isinstance(item, AudioFrame | Transcript | UtteranceEnd)
        match item:
            case AudioFrame():
                size = len(item.payload)
                samples = size // sample_bytes if sample_bytes else size and packet_samples
                self.seq = item.seq + 1
                self.sample = item.sample + samples
                self.samples_since += samples
                self.utterance = item.utterance
                self.sounding = True
            case Transcript(seq=int(seq)) | SwitchUp(seq=int(seq)):
                self.seq = seq + 1
            case UtteranceEnd(seq=int(seq)):
                self.seq = seq + 1
                self.samples_since += item.sample - self.sample  # the last packet may go beyond it
                self.sample = item.sample
                self.utterance = item.utterance + 1
                self.sounding = False
            case Committed():
                self.committed = item
                self.samples_since = self.entries_since = 0
            case StreamEnd() | Error():
                self.over = True
            case _:
                pass


def first_standing(start: StreamStart) -> Standing:
    """Return where a stream stands that nobody has worked on in this epoch."""
    where = start.continues
    if where is None:
        return Standing()
    said = where.received_upto - where.utterance_sample
    restart: Restart | None = Restart(0, where.utterance, samples=max(0, said))
    upto = where.sample
    if start.task == "synthesize":
        upto = 0
    elif start.task == "recognize":
        restart = Restart(0, where.utterance) if where.speaking else None
    return Standing(
        sample=where.received_upto,
        utterance=where.utterance,
        sounding=said > 0,
        committed=Committed(-1, upto=upto, restart=restart),
    )


async def read_standing(
    logs: Logs,
    key: StreamKey,
    sample_bytes: int,
    *,
    packet_samples: int = 0,
    first: Callable[[], Standing] = Standing,
) -> Standing:
    """Read where a stream stands; the writer must be settled, so that nobody else writes.

    Args:
        logs: Of the bus.
        key: The stream.
        sample_bytes: Bytes of a sample over all channels; 0 where a payload is a packet.
        packet_samples: Samples of a packet.
        first: Returns where it stood before anybody worked on it.

    Raises:
        SessionExpired: If the log is gone.
        ResumeGap: If the log was trimmed beyond its last mark, so that there is no telling.
    """
    after = 0
    while True:
        try:
            sizes = (sample_bytes, packet_samples)
            return await _read_standing(logs, key, sizes, after, first())
        except ResumeGap as gap:
            # Trimming goes on meanwhile, each time at most to the last mark.
            if gap.missing is None or gap.missing[1] <= after + 1:
                raise
            after = gap.missing[1] - 1


async def _read_standing(
    logs: Logs, key: StreamKey, sizes: tuple[int, int], after: int, standing: Standing
) -> Standing:
    """Read all entries above `after`, the last that is known to be trimmed."""
    lacking = after > 0
    while True:
        entries = await logs.read(key, Direction.DOWN, after=after)
        for entry in entries:
            for item in entry.items:
                lacking = lacking and not isinstance(item, Committed)
                standing.note(item, *sizes)
        if not entries and lacking:
            raise ResumeGap(f"the down log of {key.stream_id!r} is trimmed beyond its last mark")
        if not entries:
            return standing
        after = entries[-1].number
