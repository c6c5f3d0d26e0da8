import re
from pathlib import Path

import pytest

from tests.architecture.checkout import files, name

# Written in pieces, so that this file passes its own test.
HOSTS = "|".join(
    re.escape(host)
    for host in (
        "pypi" + ".org",
        "python" + "hosted.org",
        "registry." + "npmjs.org",
        "deb." + "debian.org",
        "archive." + "ubuntu.com",
    )
)
PLACES = "|".join(("/wo" + "rk/", "/ro" + "ot/", "/ho" + r"me/\w", "/Us" + r"ers/\w", "/o" + "pt/"))
ADDRESS = re.compile(
    rf"(?P<host>{HOSTS})|(?<![\w./-])(?P<place>{PLACES})|--(?:extra-)?index-url\s+\S*://"
)


def addresses(text: str) -> list[str]:
    """Lines that hold a registry's host or a path that exists on one machine only."""
    return [line.strip() for line in text.splitlines() if ADDRESS.search(line)]


def text_files() -> list[Path]:
    found = []
    for path in files():
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found.append(path)
    return found


@pytest.mark.parametrize("path", text_files(), ids=name)
def test_a_file_names_no_registry_and_no_machine(path: Path) -> None:
    assert addresses(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "see https://pypi" + ".org/project/x",
        'file = "/wo' + 'rk/x"',
        "cd /ho" + "me/me",
        "--index-url https:" + "//mirror.example/simple",
    ],
)
def test_an_address_is_seen(line: str) -> None:
    assert addresses(line)


@pytest.mark.parametrize(
    "line", ["src/wo" + "rk/x", "/v1/stream", "/usr/share/x", "ws://127.0.0.1"]
)
def test_what_is_no_address_passes(line: str) -> None:
    assert addresses(line) == []
