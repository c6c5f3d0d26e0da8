"""Places in a stream from which another server can go on with it; small enough to be stored."""

from __future__ import annotations

import msgspec

from legato.flow.digest import EMPTY


class UpPlace(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What had arrived of up by a certain entry, that one included.

    Attributes:
        seq: The entry's number, -1 for none.
        upto: Samples.
        chars: Characters.
        utterance: Number of the utterance that is being said, or of the next one.
        speaking: Whether it has begun.
    """

    seq: int = -1
    upto: int = 0
    chars: int = 0
    utterance: int = 0
    speaking: bool = False


class DownPlace(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What had been sent of down by a certain entry, that one included.

    Attributes:
        seq: The entry's number, -1 for none.
        samples: Samples.
        frames: Audio frames.
        digest: Over their payloads, 32 bytes (docs/protocol.md, rule 8).
        ended: Last utterance that had ended, or -1.
    """

    seq: int = -1
    samples: int = 0
    frames: int = 0
    digest: bytes = EMPTY
    ended: int = -1


class Struck(msgspec.Struct, tag="struck", frozen=True, gc=False):
    """What a cancel kept from being sent: the frames above `sent_seq` of what it cancelled.

    The server that took the cancel stores it in front of it, as no other could tell.

    Attributes:
        utterance: The last one cancelled.
        sent_seq: Last entry of down that had been sent.
    """

    utterance: int
    sent_seq: int
