"""What travels on a stream's lane, and what its two halves (`inbound`, `outbound`) agree on.

The lane is beside the control machine: it keeps numbers, order, credit, pace and replay, knows no
sockets, and tolerates loss, duplication and reordering; the session decides what to say about it.
"""

from __future__ import annotations

import math
from typing import Final

from legato.protocol.media import AudioFrame
from legato.protocol.messages import NumberedMessage

Item = AudioFrame | NumberedMessage
"""An entry of a stream's ordered history."""

INF: Final = math.inf
"""The instant that never comes."""

UNNUMBERED: Final = -1
"""`AudioFrame.seq` of a frame whose number is given when it is sent."""

RESEND_AFTER: Final = 2.0
"""Seconds without progress after which one end of a lossy link repeats itself."""
