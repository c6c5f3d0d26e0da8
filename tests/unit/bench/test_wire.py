import pytest

from legato.bench.wire import CODINGS, JsonFrame, cost_us
from legato.protocol.media import AudioFrame

FRAME = AudioFrame(bytes(range(256)), 7, sample=2240)


@pytest.mark.parametrize("name", CODINGS)
def test_every_coding_carries_the_same(name: str) -> None:
    write, read = CODINGS[name]
    back = read(write(FRAME))
    assert isinstance(back, AudioFrame | JsonFrame)
    pcm = back.payload if isinstance(back, AudioFrame) else back.pcm
    assert (pcm, back.seq, back.sample, back.stream) == (FRAME.payload, 7, 2240, 1)


def test_json_says_the_same_with_either_library() -> None:
    assert CODINGS["json"][0](FRAME) == CODINGS["msgspec"][0](FRAME)


def test_a_cost_is_more_than_nothing() -> None:
    assert cost_us("protobuf", FRAME) > 0
