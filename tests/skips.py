"""A pytest plugin that lets nothing be skipped in silence.

- `@pytest.mark.requires("espeak-ng")`: without it the test is skipped and listed at the end; with
  `CI=true` it fails when it could have been installed.
- `@pytest.mark.opt_in("needs real weights")`: runs with `--opt-in`, otherwise
  it is listed and never a failure.
- Any other skip is listed too, and with `CI=true` it fails the run.
"""

import os
from collections import Counter

import pytest

from tests.needs import NEEDS, Need

# A test whose skip CI accepts has this property; its report carries it from process to process.
ACCEPTED = ("its skip is accepted", True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--opt-in", action="store_true", help="also run the tests marked opt_in")


def pytest_runtest_setup(item: pytest.Item) -> None:
    opt_in = item.get_closest_marker("opt_in")
    if opt_in is not None and not item.config.getoption("--opt-in"):
        item.user_properties.append(ACCEPTED)
        pytest.skip(f"opt_in: {opt_in.args[0]} (run with --opt-in)")
    for need in needs_of(item):
        if not need.is_present():
            miss(need, item)


def needs_of(item: pytest.Item) -> list[Need]:
    """What the `requires` markers of a test, its class and its module name."""
    names = [str(name) for marker in item.iter_markers("requires") for name in marker.args]
    unknown = [name for name in names if name not in NEEDS]
    if unknown:
        pytest.fail(f"requires: {', '.join(unknown)} is not in tests/needs.py", pytrace=False)
    return [NEEDS[name] for name in names]


def miss(need: Need, item: pytest.Item) -> None:
    """Skip a test for want of `need`, or fail it where CI could have had it."""
    reason = f"{need.name} is missing: {need.way_out()}"
    if not need.apt:
        item.user_properties.append(ACCEPTED)
    elif in_ci():
        pytest.fail(f"{reason} (with CI=true this is a failure)", pytrace=False)
    pytest.skip(reason)


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def skipped_reports(config: pytest.Config) -> list[pytest.TestReport | pytest.CollectReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get("skipped", ())) if reporter is not None else []


def unaccepted(config: pytest.Config) -> list[str]:
    """Node ids of skips that CI must not let pass."""
    return [
        report.nodeid
        for report in skipped_reports(config)
        if ACCEPTED not in map(tuple, getattr(report, "user_properties", ()))
    ]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK and in_ci() and unaccepted(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> object:
    result = yield
    reasons = Counter(reason_of(report) for report in skipped_reports(config))
    if reasons:
        terminalreporter.section("not run")
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count:4} × {reason}")
    if in_ci() and unaccepted(config):
        terminalreporter.section("skipped, which fails with CI=true", red=True)
        for nodeid in unaccepted(config):
            terminalreporter.line(nodeid)
    return result


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    # For a skip, pytest sets (path, line, reason).
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)
