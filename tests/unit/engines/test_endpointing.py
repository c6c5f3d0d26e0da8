from dataclasses import replace

import pytest

from legato.engines.endpointing import Endpointer, Rules, Segment

RULES = Rules(confirm=2, preroll=3, tail=2, silence=5, longest=40, lookback=10)


def hear(endpointer: Endpointer, probabilities: str, level: float = 1.0) -> Segment | None:
    """Feed windows written as digits: tenths of the probability of speech."""
    for digit in probabilities:
        segment = endpointer.accept(int(digit) / 10, level)
        if segment is not None:
            return segment
    return None


def test_silence_is_no_segment() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "0" * 100) is None
    assert endpointer.silent
    assert endpointer.open is None
    assert endpointer.finish() is None
    assert endpointer.windows == 100


def test_speech_opens_a_segment_once_it_is_confirmed() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "00000" + "9")
    assert (endpointer.silent, endpointer.open) == (False, None)
    hear(endpointer, "9")
    assert endpointer.open == Segment(onset=5, start=2, end=7)
    assert endpointer.speaking


@pytest.mark.parametrize("after", ["0", "4"], ids=["silence", "doubt"])
def test_a_click_is_no_segment(after: str) -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "0009" + after + "9" + after * 20) is None
    assert endpointer.silent
    assert endpointer.finish() is None


def test_speech_can_be_confirmed_at_once() -> None:
    endpointer = Endpointer(replace(RULES, confirm=1))
    hear(endpointer, "09")
    assert endpointer.speaking


def test_enough_silence_ends_the_segment_with_its_tail() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "0000" + "999" + "0000") is None
    assert hear(endpointer, "0") == Segment(onset=4, start=1, end=9)


def test_the_preroll_does_not_reach_before_the_first_window() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "0999" + "0" * 5) == Segment(onset=1, start=0, end=6)


def test_the_tail_is_no_longer_than_the_silence() -> None:
    endpointer = Endpointer(replace(RULES, silence=1))
    assert hear(endpointer, "9990") == Segment(onset=0, start=0, end=4)


def test_no_silence_at_all_still_takes_one_window() -> None:
    endpointer = Endpointer(replace(RULES, silence=0))
    assert hear(endpointer, "9990") == Segment(onset=0, start=0, end=4)


def test_a_short_pause_does_not_end_the_segment() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "999" + "0000" + "9" + "0000") is None
    assert hear(endpointer, "0") == Segment(onset=0, start=0, end=10)


def test_doubt_neither_ends_speech_nor_takes_up_a_pause() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "99" + "4" * 10) is None
    assert endpointer.speaking
    assert hear(endpointer, "0" + "4" * 4) == Segment(onset=0, start=0, end=14)


def test_a_pause_is_known_once_its_tail_was_heard() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "9990")
    early = endpointer.pausing
    hear(endpointer, "0")
    expected = endpointer.pausing
    assert (early, expected) == (None, Segment(onset=0, start=0, end=5))
    assert not endpointer.speaking
    assert hear(endpointer, "000") == expected


def test_there_is_no_pause_while_someone_speaks() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "999")
    assert endpointer.pausing is None


def test_without_a_silence_rule_only_length_ends_a_segment() -> None:
    endpointer = Endpointer(replace(RULES, silence=None))
    assert hear(endpointer, "999" + "0" * 30) is None
    assert endpointer.pausing == Segment(onset=0, start=0, end=5)


def test_the_end_of_the_audio_ends_an_open_segment() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "0000999")
    assert endpointer.finish() == Segment(onset=4, start=1, end=7)
    hear(endpointer, "000")
    assert endpointer.finish() == Segment(onset=4, start=1, end=9)


def test_a_long_segment_is_cut_at_its_quietest_recent_point() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "9" * 33, level=1.0)
    hear(endpointer, "9", level=0.1)
    assert hear(endpointer, "9" * 10, level=1.0) == Segment(onset=0, start=0, end=34)


def test_one_quiet_window_alone_loses_to_a_longer_pause() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "9" * 31, level=1.0)
    hear(endpointer, "9", level=0.0)
    hear(endpointer, "9" * 2, level=1.0)
    hear(endpointer, "9" * 3, level=0.2)
    assert hear(endpointer, "9" * 10, level=1.0) == Segment(onset=0, start=0, end=35)


def test_of_equally_quiet_points_the_last_makes_the_longest_segment() -> None:
    endpointer = Endpointer(RULES)
    assert hear(endpointer, "9" * 50) == Segment(onset=0, start=0, end=38)


def test_a_lower_threshold_hears_quieter_speech() -> None:
    assert Endpointer(RULES).accept(0.4, 1.0) is None
    sensitive = Endpointer(replace(RULES, threshold=0.3))
    hear(sensitive, "44")
    assert sensitive.speaking


def test_silence_is_told_at_the_lowest_threshold_as_well() -> None:
    assert hear(Endpointer(replace(RULES, threshold=0.1)), "111" + "0" * 5) is not None


def test_a_segment_may_be_cut_sooner_than_the_rules_say_but_not_later() -> None:
    def windows_until_cut(longest: int | None) -> int:
        endpointer = Endpointer(RULES)
        while endpointer.accept(0.9, 1.0, longest=longest) is None:
            pass
        return endpointer.windows

    assert windows_until_cut(None) == RULES.longest
    assert windows_until_cut(20) == 20
    assert windows_until_cut(RULES.longest + 10) == RULES.longest


def test_a_segment_that_is_too_long_by_now_is_cut_at_once() -> None:
    endpointer = Endpointer(RULES)
    hear(endpointer, "9" * 30)
    cut = endpointer.accept(0.9, 1.0, longest=20)
    assert cut is not None
    assert endpointer.windows - RULES.lookback <= cut.end <= endpointer.windows
