import pytest

from legato.errors import UnexpectedMessage
from legato.session.states import (
    LINK,
    OVER,
    SENDING,
    STREAM,
    UP,
    LinkSignal,
    LinkState,
    StreamSignal,
    StreamState,
    advance,
)


def test_a_step_of_the_table_is_taken() -> None:
    state = advance(LINK, LinkState.IDLE, LinkSignal.CONNECT)
    assert state is LinkState.GREETING


def test_a_step_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(UnexpectedMessage, match="greet is not possible while open"):
        advance(LINK, LinkState.OPEN, LinkSignal.GREET)


def test_every_state_can_be_reached() -> None:
    assert set(LINK.values()) == set(LinkState)
    assert set(STREAM.values()) == set(StreamState)


def test_every_signal_leads_somewhere() -> None:
    assert {signal for _, signal in LINK} == set(LinkSignal)
    assert {signal for _, signal in STREAM} == set(StreamSignal)


def test_what_is_over_stays_so() -> None:
    assert not {state for state, _ in STREAM} & OVER
    assert {LINK[step] for step in LINK if step[0] is LinkState.CLOSED} == {LinkState.CLOSED}


def test_a_stream_may_fail_whatever_it_is_doing() -> None:
    for state in set(StreamState) - OVER:
        assert advance(STREAM, state, StreamSignal.FAIL) is StreamState.FAILED


@pytest.mark.parametrize("state", [StreamState.OPEN, StreamState.RESUMING, StreamState.SUSPENDED])
def test_a_stream_under_way_may_be_started_again(state: StreamState) -> None:
    assert advance(STREAM, state, StreamSignal.RESTART) is StreamState.STARTING


def test_nothing_leaves_without_a_connection() -> None:
    assert StreamState.SUSPENDED not in SENDING
    assert not UP & {LinkState.IDLE, LinkState.CLOSED}
