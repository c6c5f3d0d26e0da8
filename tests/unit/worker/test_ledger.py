from legato.bus.base import Committed, Restart
from legato.worker.ledger import Ledger
from legato.worker.takeover import Standing


def opened(*lengths: int) -> Ledger:
    ledger = Ledger(Standing())
    for seq, length in enumerate(lengths):
        ledger.take(seq, length)
    return ledger


def test_a_text_is_done_with_when_its_audio_is_written() -> None:
    ledger = opened(5, 5)
    ledger.bound(5, 1000)
    assert not ledger.advance(999)
    assert ledger.mark(999).seq == -1
    assert ledger.advance(1000)
    assert ledger.mark(1000) == Committed(0, chars=5, restart=Restart(0, 0, 5, 0))


def test_a_text_that_ends_within_a_segment_waits_for_its_end() -> None:
    ledger = opened(3, 3)
    ledger.bound(5, 100)
    ledger.bound(6, 200)
    ledger.advance(100)
    assert ledger.mark(100) == Committed(0, chars=3, restart=Restart(0, 0, 5, 0))
    ledger.advance(200)
    assert ledger.mark(200).seq == 1


def test_a_mark_says_how_much_of_the_next_segment_is_written() -> None:
    ledger = opened(5, 5)
    ledger.bound(5, 1000)
    ledger.advance(1300)
    assert ledger.mark(1300).restart == Restart(0, 0, 5, 300)
    assert ledger.unmarked(1500) == 200


def test_the_end_of_an_utterance_frees_all_its_entries() -> None:
    ledger = opened(5, 5)
    ledger.close(2, 400)
    assert ledger.mark(400) == Committed(2, chars=10)
    assert ledger.mark(400).trim_seq == 2
    assert (ledger.utterance, ledger.is_open) == (1, False)


def test_an_entry_that_opens_nothing_is_done_with_at_once() -> None:
    ledger = Ledger(Standing())
    ledger.pass_over(0)
    assert ledger.mark(0) == Committed(0)


def test_an_entry_between_texts_waits_for_those_before_it() -> None:
    ledger = opened(5)
    ledger.pass_over(1)
    assert ledger.mark(0).seq == -1
    ledger.bound(5, 10)
    ledger.advance(10)
    assert ledger.mark(10).seq == 1


def test_text_of_a_failed_utterance_is_done_with_but_its_number_is_kept() -> None:
    ledger = opened(5, 5)
    ledger.drop()
    assert ledger.mark(70, over=True) == Committed(1, chars=10, restart=Restart(2, 0))


def test_a_restart_counts_nothing_twice() -> None:
    mark = Committed(0, chars=5, restart=Restart(0, 0, 5, 300))
    standing = Standing(seq=9, sample=1700, utterance=0, committed=mark, samples_since=400)
    ledger = Ledger(standing)
    assert (ledger.spoken_chars, ledger.spoken_samples) == (5, 700)
    ledger.take(0, 5)
    ledger.take(1, 5)
    assert ledger.mark(1700) == Committed(0, chars=5, restart=Restart(0, 0, 5, 700))
    ledger.bound(10, 2000)
    ledger.advance(2000)
    assert ledger.mark(2000) == Committed(1, chars=10, restart=Restart(0, 0, 10, 0))


def test_a_restart_after_a_failure_skips_nothing_of_the_next_utterance() -> None:
    mark = Committed(1, chars=10, restart=Restart(2, 0))
    ledger = Ledger(Standing(seq=3, sample=70, utterance=1, committed=mark))
    assert (ledger.utterance, ledger.spoken_chars, ledger.spoken_samples) == (0, 0, 0)
