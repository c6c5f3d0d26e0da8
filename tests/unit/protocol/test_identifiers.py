import pytest

from legato.errors import MalformedMessage
from legato.protocol.identifiers import check_stream_id


@pytest.mark.parametrize("stream_id", ["a", "7", "say-1.A_b", "x" * 64, "a.b.c", "a-", "a."])
def test_a_good_name_is_returned(stream_id: str) -> None:
    assert check_stream_id(stream_id) == stream_id


@pytest.mark.parametrize(
    "stream_id",
    [
        "",
        "x" * 65,
        ".a",
        "-a",
        "_a",
        "a..b",
        "a/b",
        "a b",
        "a\n",
        "a\x00",
        "é",
        "a{b}",
        "a:b",
        "４",
    ],
)
def test_a_bad_name_is_refused_with_the_rule_and_the_path(stream_id: str) -> None:
    with pytest.raises(MalformedMessage, match=r"1 to 64 of A-Z.*`\$\.stream_id`"):
        check_stream_id(stream_id)


def test_a_huge_or_odd_name_is_shown_short_and_in_ascii() -> None:
    with pytest.raises(MalformedMessage) as raised:
        check_stream_id("\n文" + "x" * 100_000)

    assert r"'\n\u6587xxx" in raised.value.message
    assert len(raised.value.message) < 300
