from pathlib import Path

import pytest

from legato.cli.doctor import Finding, Setup, engines, extras, read_setup
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


def written(folder: Path, text: str) -> Setup:
    path = folder / "legato.toml"
    path.write_text(text)
    return read_setup(path)


def found(setup: Setup, name: str) -> Finding:
    return next(finding for _, finding in engines(setup) if finding.name == name)


HTTP = """
[[worker.engines]]
kind = "synthesize"
name = "openai"
"""


def test_an_engine_is_looked_at_with_the_options_of_the_settings(tmp_path: Path) -> None:
    bare = found(written(tmp_path, HTTP), "openai (synthesize)")
    assert bare.state == "broken"
    assert "urls" in bare.detail
    options = '[worker.engines.options]\nurls = ["http://127.0.0.1:50000"]\n'
    whole = found(written(tmp_path, HTTP + options), "openai (synthesize)")
    assert whole.state == "ok"


def test_an_option_that_the_engine_does_not_take_is_told(tmp_path: Path) -> None:
    options = "[worker.engines.options]\nurl = 1\n"
    told = found(written(tmp_path, HTTP + options), "openai (synthesize)")
    assert told.state == "broken"
    assert "unknown field" in told.detail


def test_what_nobody_chose_may_be_missing() -> None:
    assert found(Setup(), "openai (synthesize)").state == "absent"
    assert found(read_setup(None), "tone (synthesize)").state == "ok"


def test_an_engine_of_the_settings_that_is_not_registered_is_told(tmp_path: Path) -> None:
    strange = HTTP.replace("openai", "lark")
    told = found(written(tmp_path, strange), "lark (synthesize)")
    assert told.state == "broken"
    assert "no engine 'lark'" in told.detail
    target = f"{strange}target = 'tests.standins.tone_bank:tone_bank'\n"
    assert found(written(tmp_path, target), "lark (synthesize)").state == "ok"


def test_settings_that_cannot_be_used_are_a_finding(tmp_path: Path) -> None:
    setup = written(tmp_path, "[worker]\nengine = 1\n")
    (fault,) = setup.faults
    assert (fault.name, fault.state) == ("settings", "broken")
    assert "worker.engine is not a setting" in fault.detail
