"""How often a stream was delivered in vain: what kills workers ends, its neighbours do not."""

from __future__ import annotations

from typing import Final

import msgspec

from legato.bus.base import Claim, Logs
from legato.worker.takeover import Standing

DELIVERIES: Final = "deliveries"
"""Name of the note that a worker leaves when it takes a stream over."""


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Where a stream stood when it was taken over, and for which time in vain that was.

    Attributes:
        seq: Last entry of up that was done with.
        upto: Samples of up that were done with.
        sample: Position of the next sample of down.
        count: Deliveries since something last came of one, this one included.
    """

    seq: int
    upto: int
    sample: int
    count: int

    def is_behind(self, standing: Standing) -> bool:
        """Whether something has come of the stream since."""
        committed = standing.committed
        return (self.seq, self.upto, self.sample) != (
            committed.seq,
            committed.upto,
            standing.sample,
        )


async def count_deliveries(logs: Logs, claim: Claim, standing: Standing) -> int:
    """Return for which time in a row a stream is delivered without that anything came of it.

    A stream that is held up by another one's faults goes on each time; the faulty one does not.

    Args:
        logs: Of the bus.
        claim: The job.
        standing: Where the stream stands.

    Raises:
        SessionExpired: If the stream is gone.
    """
    if claim.deliveries <= 1:
        return 1
    key = claim.job.key
    record = (await logs.notes(key)).get(DELIVERIES)
    count = claim.deliveries
    if record is not None:
        before = msgspec.msgpack.decode(record.value, type=Tally)
        count = 1 if before.is_behind(standing) else before.count + 1
    committed = standing.committed
    tally = Tally(committed.seq, committed.upto, standing.sample, count)
    await logs.note(key, DELIVERIES, msgspec.msgpack.encode(tally))
    return count
