import pytest

from legato.bus.logs import NOTE_BYTES, NOTES, check_note, check_notes


def test_a_note_up_to_the_limit_will_do() -> None:
    check_note(bytes(NOTE_BYTES))
    with pytest.raises(ValueError, match=f"{NOTE_BYTES + 1} bytes"):
        check_note(bytes(NOTE_BYTES + 1))


def test_the_notes_of_trims_do_not_count() -> None:
    names = [f"n{n}" for n in range(NOTES)]
    check_notes([*names, "up", "down"])
    with pytest.raises(ValueError, match=f"not {NOTES + 1}"):
        check_notes([*names, "left"])
