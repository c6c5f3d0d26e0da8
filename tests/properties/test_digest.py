from hypothesis import given
from hypothesis import strategies as st

from legato.flow.digest import Chain

payloads = st.lists(st.binary(max_size=64), max_size=20)


def digest(payloads: list[bytes], start: bytes = bytes(32)) -> bytes:
    chain = Chain(start)
    for payload in payloads:
        chain.update(payload)
    return chain.digest


@given(payloads=payloads, data=st.data())
def test_any_process_may_go_on_at_any_frame(payloads: list[bytes], data: st.DataObject) -> None:
    cut = data.draw(st.integers(min_value=0, max_value=len(payloads)))

    assert digest(payloads[cut:], digest(payloads[:cut])) == digest(payloads)


@given(one=payloads, other=payloads)
def test_different_histories_have_different_digests(one: list[bytes], other: list[bytes]) -> None:
    assert (digest(one) == digest(other)) == (one == other)
