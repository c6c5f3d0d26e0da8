import pytest
import typer

from legato.cli.options import as_text, is_text


def test_bytes_that_are_no_text_are_told_from_text() -> None:
    assert is_text("caf\u00e9 \U0001f600")
    assert not is_text(b"caf\xe9".decode("utf-8", "surrogateescape"))


def test_an_option_that_is_no_text_is_refused() -> None:
    assert as_text("heart") == "heart"
    assert as_text(None) is None
    with pytest.raises(typer.BadParameter, match="not UTF-8"):
        as_text("\udcff")
