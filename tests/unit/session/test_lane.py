from typing import get_args

from legato.protocol.media import AudioFrame
from legato.protocol.messages import NumberedMessage
from legato.session.lane import INF, UNNUMBERED, Item


def test_audio_and_numbered_messages_are_entries() -> None:
    assert set(get_args(Item)) == {AudioFrame, NumberedMessage}


def test_no_number_is_taken_for_one_that_is_to_be_given() -> None:
    assert AudioFrame(b"").seq > UNNUMBERED


def test_some_instants_never_come() -> None:
    assert INF > 1e300
