from collections.abc import Iterator

from legato.engines.upstream.script import Script


class Slow:
    """Pieces, each after so many seconds."""

    def __init__(self, *pieces: tuple[float, str]) -> None:
        self.now = 0.0
        self.pulled: list[str] = []
        self._pieces = pieces

    def __iter__(self) -> Iterator[str]:
        for wait, piece in self._pieces:
            self.now += wait
            self.pulled.append(piece)
            yield piece


def script(source: Slow) -> Script:
    return Script(iter(source), longest_wait=15.0, clock=lambda: source.now)


def test_what_was_said_can_be_said_again() -> None:
    one = script(Slow((0, "a"), (1, "b"), (1, "c")))
    assert one.begin()
    said = one.pieces()
    assert [next(said), next(said)] == ["a", "b"]
    assert list(one.pieces()) == ["a", "b", "c"]
    assert not one.begin()


def test_text_that_was_long_in_coming_begins_a_run() -> None:
    one = script(Slow((100, "a"), (15, "b"), (16, "c"), (1, "d")))
    assert one.begin()
    assert list(one.pieces()) == ["a", "b"]
    assert list(one.pieces()) == ["a", "b"]
    assert one.begin()
    assert list(one.pieces()) == ["c", "d"]
    assert not one.begin()


def test_text_is_pulled_when_it_is_asked_for() -> None:
    source = Slow((0, "a"), (0, "b"))
    one = script(source)
    one.begin()
    next(one.pieces())
    assert source.pulled == ["a"]
