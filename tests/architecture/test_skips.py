from pathlib import Path

import pytest

from tests import needs
from tests.needs import Need

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ("-p", "tests.skips", "-p", "no:cacheprovider")

NOTHING = Need("nothing", program="no-such-program-7f3a", apt="no-such-package")
NOWHERE = Need("nowhere", path="no/such/path")
HERE = Need("here", path=".")


@pytest.fixture(autouse=True)
def three_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for need in (NOTHING, NOWHERE, HERE):
        monkeypatch.setitem(needs.NEEDS, need.name, need)


def run(pytester: pytest.Pytester, test: str, *args: str) -> pytest.RunResult:
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
        "markers =\n  requires(*names): x\n  opt_in(reason): x\n"
    )
    pytester.makepyfile(f"import pytest\n\n{test}\n")
    return pytester.runpytest_inprocess(*PLUGIN, *args)


REQUIRES = "@pytest.mark.requires({!r})\ndef test_it(): pass"
OPT_IN = "@pytest.mark.opt_in('wants a GPU')\ndef test_it(): pass"
PLAIN = "def test_it(): pytest.skip('not today')"


def test_a_test_whose_need_is_missing_is_skipped_and_named(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    result = run(pytester, REQUIRES.format("nothing"))
    assert result.ret == 0
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*nothing is missing: sudo apt-get install no-such-package*"])


def test_in_ci_a_need_that_could_be_installed_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(pytester, REQUIRES.format("nothing"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*nothing is missing*CI=true*"])


def test_in_ci_a_need_that_cannot_be_installed_is_named(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(pytester, REQUIRES.format("nowhere"))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*nowhere is missing: cannot be installed here*"])


def test_a_test_whose_need_is_there_runs(pytester: pytest.Pytester) -> None:
    run(pytester, REQUIRES.format("here")).assert_outcomes(passed=1)


def test_an_unknown_need_fails(pytester: pytest.Pytester) -> None:
    result = run(pytester, REQUIRES.format("typo"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*typo is not in tests/needs.py*"])


def test_opt_in_is_listed_and_passes_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(pytester, OPT_IN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 × opt_in: wants a GPU*"])


def test_opt_in_runs_when_asked_for(pytester: pytest.Pytester) -> None:
    run(pytester, OPT_IN, "--opt-in").assert_outcomes(passed=1)


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_any_other_skip_is_listed_and_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, code: int
) -> None:
    monkeypatch.setenv("CI", ci)
    result = run(pytester, PLAIN)
    assert result.ret == code
    result.stdout.fnmatch_lines(["*1 × not today*"])


def test_a_module_that_skips_itself_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(pytester, "pytest.importorskip('no_such_module')\ndef test_it(): pass")
    assert result.ret != 0


@pytest.mark.parametrize(("test", "code"), [(OPT_IN, 0), (PLAIN, 1)], ids=["opt in", "plain"])
def test_tests_in_several_processes_are_judged_alike(
    test: str, code: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = run(pytester, test, "--numprocesses", "2")
    result.assert_outcomes(skipped=1)
    assert result.ret == code
