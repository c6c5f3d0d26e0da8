import pytest

from legato.cli.doctor import Finding, extras
from legato.engines.installation import add_command


def espeak(usable: set[str]) -> Finding:
    return next(finding for finding in extras(usable) if finding.name == "[espeak]")


@pytest.fixture(autouse=True)
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is not installed, whatever this machine has."""
    wanted = {"espeak": ("no_such_module",), "server": ("asyncio",)}
    for module in ("legato.cli.extras", "legato.cli.doctor"):
        monkeypatch.setattr(f"{module}.MODULES", wanted)


def test_what_the_system_has_need_not_be_installed() -> None:
    assert espeak({"espeak"}) == Finding(
        "[espeak]", "ok", "not needed: the espeak of the system is used"
    )


def test_what_nobody_has_is_named_with_the_line_that_adds_it() -> None:
    assert espeak({"tone"}) == Finding("[espeak]", "absent", add_command("espeak"))


def test_what_is_installed_is_told() -> None:
    assert Finding("[server]", "ok", "installed") in list(extras(set()))
