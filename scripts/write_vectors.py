"""Write the vectors that other implementations are tested against; `--check` only compares.

From the root of the checkout: `python -m scripts.write_vectors`.
"""

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from legato.errors import MalformedMessage
from legato.flow.backoff import ARTICLES, INTERACTIVE, Backoff, Profile
from legato.flow.digest import Chain
from legato.flow.pacing import TokenBucket
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from scripts.writing import ROOT, write
from tests.simulation.conversations import conversations

VECTORS = ROOT / "tests" / "vectors"

MUTATIONS = 400


def files() -> dict[Path, str]:
    """Every file of vectors and what it must hold."""
    made = {
        "audio_chunk_mutations.json": mutations(),
        "flow.json": {"backoff": backoffs(), "pacing": pacing(), "digest": digests()},
        "client_session.json": conversations(),
    }
    return {VECTORS / name: written(value) for name, value in made.items()}


def written(value: object) -> str:
    """JSON with one line for each item of the outer two levels."""
    if isinstance(value, dict):
        lines = [f"{json.dumps(name)}: {written(item).rstrip()}" for name, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"
    assert isinstance(value, list)  # noqa: S101  (narrows the type)
    lines = [json.dumps(item, separators=(",", ":"), ensure_ascii=False) for item in value]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def mutations() -> list[Any]:
    """Bytes that are almost frames, and what is read of them: fields, or null for a refusal."""
    rng = Random(7)  # noqa: S311  (not for secrets)
    return [[data.hex(), read(data)] for data in (mutation(rng) for _ in range(MUTATIONS))]


def mutation(rng: Random) -> bytes:
    """A frame with a few bytes changed, left out, or put in."""
    frame = AudioFrame(
        rng.randbytes(rng.randint(0, 6)),
        seq=rng.choice((0, 1, 127, 128, 2**32 - 1)),
        last=rng.random() < 0.5,
        sample=rng.choice((0, 480, 2**40, 2**53 - 1)),
        utterance=rng.choice((0, 3, 2**31)),
    )
    data = bytearray(encode_frame(frame, rng.choice((0, 1, 300)), rng.choice((0, 1))))
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        tag = rng.choice((0x08, 0x0B, 0x0C, 0x0D, 0x28, 0x2A, 0x42, 0x43, 0x44, 0x45, 0x80, 0xFF))
        piece = bytes((rng.choice((tag, rng.randrange(256))),)) * rng.choice((0, 1, 1, 2, 9))
        data[at : at + rng.choice((0, 0, 1, 2))] = piece
    return bytes(data)


def read(data: bytes) -> list[Any] | None:
    """The fields of a frame in the order of their numbers."""
    try:
        frame = decode_frame(data)
    except MalformedMessage:
        return None
    numbers = (frame.seq, frame.last, frame.stream, frame.sample, frame.epoch, frame.utterance)
    return [frame.payload.hex(), *numbers]


class Drawn:
    """Gives numbers that were drawn before."""

    def __init__(self, numbers: list[float]) -> None:
        self._numbers = iter(numbers)

    def random(self) -> float:
        """Return the next one."""
        return next(self._numbers)


def backoffs() -> list[Any]:
    """What each profile waits, given what was drawn, when, and what the server asked for."""
    profiles = {"interactive": INTERACTIVE, "articles": ARTICLES}
    return [[name, steps(profile)] for name, profile in profiles.items()]


def steps(profile: Profile) -> list[Any]:
    """Attempts until there are no more, or it has lasted long."""
    rng = Random(3)  # noqa: S311  (not for secrets)
    drawn = [round(rng.random(), 3) for _ in range(40)]
    backoff = Backoff(Drawn(drawn), profile)
    made = []
    now = 100.0
    for share in drawn:
        if backoff.is_exhausted:
            break
        asked = rng.choice((None, None, 2.5))
        delay = backoff.next_delay(now, asked)
        made.append([now, share, asked, delay])
        now += delay + 0.125
    return made


def pacing() -> list[Any]:
    """What a bucket lets pass: the call, the instant, the number, and what it answers."""
    rng = Random(5)  # noqa: S311  (not for secrets)
    bucket = TokenBucket(24_000, 32_000)
    now = 10.0
    made: list[Any] = [["new", 0, 24_000, 32_000]]
    for _ in range(120):
        now += rng.choice((0.0, 0.01, 0.25, 3.0))
        size = rng.choice((160, 480, 8_000, 32_000))
        if rng.random() < 0.1:
            rate = rng.choice((0.0, 8_000.0, 100_000.0))
            bucket.set_rate(rate, now)
            made.append(["set_rate", now, rate, None])
        ready = bucket.ready_at(size, now)
        made.append(["ready_at", now, size, None if ready == float("inf") else ready])
        made.append(["take", now, size, bucket.take(size, now)])
    return made


def digests() -> list[Any]:
    """Payloads, and the digest after each."""
    rng = Random(11)  # noqa: S311  (not for secrets)
    chain = Chain()
    made = []
    for size in (0, 1, 2, 63, 64, 65, 640, 0, 960):
        payload = rng.randbytes(size)
        chain.update(payload)
        made.append([payload.hex(), chain.hexdigest()])
    return made


if __name__ == "__main__":
    sys.exit(write(files(), __doc__))
