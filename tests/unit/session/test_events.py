from typing import get_args

import pytest

from legato.audio import AudioFormat
from legato.protocol.messages import StreamStart
from legato.session import events
from legato.session.client_stream import ClientStream
from legato.session.events import Event, Received


def test_every_event_of_the_module_is_in_the_union() -> None:
    defined = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and kind.__module__ == events.__name__
    }
    assert set(get_args(Event)) == defined


def test_an_event_cannot_be_changed() -> None:
    start = StreamStart(stream_id="a", task="echo")
    event = Received(ClientStream(start, AudioFormat(16_000)), [])
    with pytest.raises(AttributeError):
        event.items = []  # type: ignore[misc]  # that is what must fail
