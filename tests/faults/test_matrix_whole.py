"""No fault of the matrix is forgotten: it is a case here, or named tests elsewhere are about it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAULTS = tuple(f"F{number:02}" for number in range(1, 33))

ELSEWHERE = {
    "F16": (
        "integration/gateway/test_bad_input.py::test_a_gap_is_told_once_and_nothing_behind_it_is_taken",
        "integration/gateway/test_bad_input.py::test_a_duplicate_is_acknowledged_and_not_taken",
        "properties/test_sequence.py",
        "properties/test_session_link.py",
    ),
    "F18": (
        "integration/gateway/test_connections.py::test_who_does_not_read_is_closed_and_others_go_on",
        "integration/gateway/test_connections.py::test_who_never_reads_again_is_dropped_too",
    ),
    "F19": (
        "integration/gateway/test_bad_input.py::test_a_byte_more_is_closed_with_1009",
        "integration/gateway/test_bad_input.py::test_the_header_is_enough",
    ),
    "F20": (
        "integration/gateway/test_bad_input.py::test_a_broken_message_is_told_and_the_connection_goes_on",
        "integration/gateway/test_bad_input.py::test_five_broken_messages_close_with_4400",
        "properties/test_codec.py",
        "properties/test_session_robustness.py",
    ),
    "F22": (
        "integration/test_tls.py::test_an_unknown_authority_is_refused_unless_a_test_says_otherwise",
        "integration/gateway/test_secured.py::test_old_versions_of_tls_are_refused",
    ),
    "F25": (
        "integration/gateway/test_connections.py::test_a_header_that_trickles_is_not_waited_for",
        "integration/gateway/test_connections.py::test_who_says_nothing_after_the_handshake_is_closed_in_5_s",
        "integration/gateway/test_secured.py::test_who_does_not_finish_the_handshake_is_not_waited_for",
    ),
}

MEASURED = {"F24": "bench/idle.py"}
"""By `legato bench`: 10,000 sockets are more than a test should open."""


def functions(path: Path) -> set[str]:
    """Names of the functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def here() -> set[str]:
    """Numbers that are cases of this folder."""
    found = set()
    for path in Path(__file__).parent.glob("test_matrix*.py"):
        found |= {f"F{name[6:8]}" for name in functions(path) if name.startswith("test_f")}
    return found


@pytest.mark.parametrize("number", FAULTS)
def test_every_fault_is_somewhere(number: str) -> None:
    assert number in here() | ELSEWHERE.keys() | MEASURED.keys()


@pytest.mark.parametrize("test", [test for tests in ELSEWHERE.values() for test in tests])
def test_what_is_said_to_be_elsewhere_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert (TESTS / path).exists()
    assert not name or name in functions(TESTS / path)


def test_what_is_said_to_be_measured_is() -> None:
    source = TESTS.parent / "src" / "legato"
    assert all((source / path).exists() for path in MEASURED.values())
