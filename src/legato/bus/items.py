"""What a log may hold: the wire's own messages, and a worker's marks."""

from __future__ import annotations

import msgspec

from legato.flow.places import Struck
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Error,
    Finalize,
    Flush,
    Notice,
    StreamEnd,
    SwitchDown,
    SwitchUp,
    Text,
    Transcript,
    UtteranceEnd,
)


class Restart(msgspec.Struct, gc=False):
    """Where in up another worker would begin, and how much it would find done.

    Attributes:
        seq: First up entry that it needs; lower ones may be trimmed.
        utterance: Number of the utterance that this entry belongs to.
        chars: In synthesis, characters of that utterance whose audio is all in the down log.
        samples: In synthesis, samples in the down log past those characters, up to this mark. In
            recognition, samples of up from that entry on that are done with. In echo, samples of
            that utterance that are done with.
    """

    seq: int
    utterance: int = 0
    chars: int = 0
    samples: int = 0


class Committed(msgspec.Struct, tag="committed", gc=False):
    """A worker's mark in the down log: this much of up is done with.

    The last entry that holds one is where a take-over starts to read: of down, only entries before
    it may be trimmed.

    Attributes:
        seq: Last up entry done with, inclusive; -1 for none.
        upto: Samples of up done with, exclusive.
        chars: Characters of up done with, exclusive.
        restart: Where another worker would begin; None means after `seq` and `upto`.
    """

    seq: int
    upto: int = 0
    chars: int = 0
    restart: Restart | None = None

    @property
    def trim_seq(self) -> int:
        """Last up entry that nobody needs any more, -1 for none."""
        return self.seq if self.restart is None else self.restart.seq - 1


UpItem = AudioFrame | Text | Flush | Finalize | Cancel | StreamEnd | SwitchDown | SwitchUp | Struck
DownItem = (
    AudioFrame
    | Transcript
    | UtteranceEnd
    | StreamEnd
    | SwitchDown
    | SwitchUp
    | Error
    | Notice
    | Committed
)
Item = UpItem | DownItem
"""What a log may hold."""
