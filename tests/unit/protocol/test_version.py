import pytest

from legato.errors import UnsupportedVersion
from legato.protocol.version import (
    FEATURES,
    SUBPROTOCOL,
    VERSION,
    VERSIONS,
    agree_features,
    agree_version,
    pick_subprotocol,
)


def test_the_own_version_is_spoken() -> None:
    assert VERSION in VERSIONS
    assert agree_version(VERSION) == VERSION
    assert f"legato.v{VERSION}" == SUBPROTOCOL


@pytest.mark.parametrize("version", [0, 2, 4_294_967_295])
def test_an_unknown_version_is_refused_naming_those_spoken(version: int) -> None:
    with pytest.raises(UnsupportedVersion, match=rf"version {version} .*speaks 1$"):
        agree_version(version)


def test_unknown_features_are_ignored() -> None:
    assert agree_features(["flying", "opus", "opus"], ["opus", "datagrams"]) == ["opus"]
    assert agree_features(["datagrams", "opus"], ["opus", "datagrams"]) == ["opus", "datagrams"]
    assert agree_features(["flying"]) == []
    assert agree_features(FEATURES) == list(FEATURES)


@pytest.mark.parametrize(
    "offered",
    [
        ["legato.v1"],
        ["ticket.c2VjcmV0", "legato.v1"],
        ["legato.v2", "legato.v1"],
        [" legato.v1 "],
    ],
)
def test_only_the_own_subprotocol_is_echoed(offered: list[str]) -> None:
    assert pick_subprotocol(offered) == "legato.v1"


@pytest.mark.parametrize("offered", [[], ["chat"], ["ticket.c2VjcmV0"], ["legato.version"]])
def test_without_a_subprotocol_of_ours_none_is_echoed(offered: list[str]) -> None:
    assert pick_subprotocol(offered) is None


def test_only_other_versions_are_refused() -> None:
    with pytest.raises(UnsupportedVersion, match=r"legato\.v2 is not spoken.*speaks legato\.v1"):
        pick_subprotocol(["ticket.c2VjcmV0", "legato.v2", "legato.v3"])
