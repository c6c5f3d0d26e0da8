from pathlib import Path

import pytest

from legato.engines.upstream.secret import Secret, read
from legato.errors import EngineUnavailable


def test_a_key_comes_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LARK_KEY", " sk-1\n")
    secret = read("lark", key_env="LARK_KEY", key_file="")
    assert secret.bearer() == {"Authorization": "Bearer sk-1"}


def test_a_file_goes_before_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LARK_KEY", "sk-1")
    file = tmp_path / "key"
    file.write_text("sk-2\n")
    secret = read("lark", key_env="LARK_KEY", key_file=str(file))
    assert secret.bearer() == {"Authorization": "Bearer sk-2"}


def test_without_a_name_there_is_no_key() -> None:
    secret = read("lark", key_env="", key_file="")
    assert not secret
    assert secret.bearer() == {}


def test_a_key_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LARK_KEY", raising=False)
    with pytest.raises(EngineUnavailable, match="LARK_KEY"):
        read("lark", key_env="LARK_KEY", key_file="")
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        read("lark", key_env="", key_file=str(tmp_path / "none"))


@pytest.mark.parametrize("key", ["sk\r\nX-Evil: 1", "schlüssel"])
def test_what_cannot_stand_in_a_header_is_no_key(key: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(key, encoding="utf-8")
    with pytest.raises(EngineUnavailable, match="is no key") as caught:
        read("lark", key_env="", key_file=str(file))
    assert key not in caught.value.message


def test_a_key_is_shown_nowhere() -> None:
    secret = Secret("sk-1")
    assert "sk-1" not in repr(secret) + str(secret)
    assert secret.scrubbed("Incorrect key sk-1.") == "Incorrect key ***."
    assert Secret().scrubbed("sk-1") == "sk-1"
