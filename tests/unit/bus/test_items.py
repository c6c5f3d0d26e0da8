from legato.bus.items import Committed, Restart


def test_without_a_restart_everything_done_with_may_be_trimmed() -> None:
    assert Committed(12).trim_seq == 12
    assert Committed(-1).trim_seq == -1


def test_what_another_worker_would_begin_with_is_kept() -> None:
    assert Committed(12, restart=Restart(9)).trim_seq == 8
    assert Committed(12, restart=Restart(0)).trim_seq == -1
