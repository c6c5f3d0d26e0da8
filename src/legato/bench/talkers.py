"""Talkers: a process with several live recognitions, each fed as a microphone would.

It reads one line of JSON from its standard input (`Talk`), prints an empty object when it has read
the audio, and at the end what was written down of each talker (`Written`). Its clock is
`perf_counter`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.clips import SAMPLE_RATE
from legato.bench.row import percentile
from legato.client.client import Client, connect
from legato.errors import LegatoError
from legato.speech import Endpointing

FRAME: Final = 0.02
FRAME_BYTES: Final = round(FRAME * SAMPLE_RATE) * 2
LEAD: Final = 0.3
END_TIMEOUT: Final = 30.0
"""Seconds after the last audio in which texts still count."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """Who talks.

    Attributes:
        address: Host and port of the server.
        paths: Of each talker the file of what it says: raw PCM, 16 kHz mono s16le.
        starts: When each begins, in seconds from the beginning.
        silence: Seconds of silence that end a segment.
    """

    address: str
    paths: list[str]
    starts: list[float]
    silence: float


class Line(msgspec.Struct, kw_only=True):
    """A text that came.

    Attributes:
        final: Whether it will not change.
        text: What was heard.
        start: First sample.
        end: Sample after the last.
        at: Seconds from the talker's first sample to its coming.
    """

    final: bool
    text: str
    start: int
    end: int
    at: float


class Notes(msgspec.Struct, kw_only=True):
    """What was written down of one talker.

    Attributes:
        lines: In their order.
        notices: Kinds of the notices that came, in their order.
        late: Seconds by which its frames were late, at p99: this process's fault.
        fault: Why the stream failed, if it did.
    """

    lines: list[Line] = msgspec.field(default_factory=list)
    notices: list[str] = msgspec.field(default_factory=list)
    late: float = 0.0
    fault: str = ""


class Written(msgspec.Struct, kw_only=True):
    """What was written down.

    Attributes:
        notes: Of each talker, in the order of `paths`.
        cpu: Share of one core that this process used.
    """

    notes: list[Notes]
    cpu: float


class Talker:
    """One live recognition.

    Args:
        client: With a connection of its own.
        pcm: What it says.
        due: When it begins.
        silence: Seconds of silence that end a segment.
    """

    def __init__(self, client: Client, pcm: bytes, due: float, silence: float) -> None:
        self._client = client
        self._pcm = pcm
        self._due = due
        self._silence = silence
        self._late: list[float] = []

    async def run(self) -> Notes:
        """Talk to the end."""
        notes = Notes()
        seconds = len(self._pcm) / 2 / SAMPLE_RATE
        listening = self._client.listen(
            self._frames(), endpointing=Endpointing(silence=self._silence)
        )
        listening.on_notice = lambda notice: notes.notices.append(notice.kind)
        try:
            async with asyncio.timeout(self._due - perf_counter() + seconds + END_TIMEOUT):
                async for heard in listening:
                    notes.lines.append(
                        Line(
                            final=heard.final,
                            text=heard.text,
                            start=heard.start,
                            end=heard.end,
                            at=perf_counter() - self._due,
                        )
                    )
        except LegatoError as error:
            notes.fault = f"{error.code}: {error}"
        except TimeoutError:
            notes.fault = f"no end {END_TIMEOUT:g} s after the last audio"
        notes.late = percentile(self._late, 0.99) if self._late else 0.0
        return notes

    async def _frames(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._pcm), FRAME_BYTES):
            frame = self._pcm[start : start + FRAME_BYTES]
            due = self._due + (start + len(frame)) / 2 / SAMPLE_RATE
            await asyncio.sleep(due - perf_counter())
            self._late.append(max(0.0, perf_counter() - due))
            yield frame


async def talk(plan: Talk, pcm: list[bytes]) -> Written:
    """Have all talk at the same time, each on a connection of its own."""
    began = perf_counter() + LEAD
    cpu = time.process_time()
    clients = [connect(f"ws://{plan.address}") for _ in pcm]
    talkers = [
        Talker(client, audio, began + start, plan.silence)
        for client, audio, start in zip(clients, pcm, plan.starts, strict=True)
    ]
    notes = await asyncio.gather(*(talker.run() for talker in talkers))
    used = (time.process_time() - cpu) / (perf_counter() - began)
    await asyncio.gather(*(client.close() for client in clients))
    return Written(notes=list(notes), cpu=used)


def main() -> None:
    """Talk as standard input says."""
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Talk)
    pcm = [Path(path).read_bytes() for path in plan.paths]

    def tell(message: object) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()

    tell({})
    tell(asyncio.run(talk(plan, pcm)))


if __name__ == "__main__":
    main()
