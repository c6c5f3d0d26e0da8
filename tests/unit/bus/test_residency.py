from pathlib import Path

from legato.bus.residency import resident_bytes


def test_a_process_knows_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "statm").write_text("5000 1000 300 2 0 400 0\n")
    found = resident_bytes(tmp_path / "statm")
    assert found is not None
    assert found % 1000 == 0
    assert found >= 1000 * 4096


def test_a_system_that_does_not_tell_is_no_fault(tmp_path: Path) -> None:
    assert resident_bytes(tmp_path / "nothing") is None
    (tmp_path / "statm").write_text("")
    assert resident_bytes(tmp_path / "statm") is None
