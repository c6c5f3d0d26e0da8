import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from legato.cli.commands import application
from legato.cli.exits import Exit
from legato.engines.models.catalogue import KNOWN
from tests.standins.hubs import Hubs, hubs

pytestmark = pytest.mark.integration

BIRD = "huggingface:lark/bird"
FILES = {"model.bin": bytes(range(256)) * 100, "a/tokens.txt": b"a\n"}


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hubs]:
    """A hub with one model, and an empty data folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hubs() as hub:
        hub.files["lark/bird"] = dict(FILES)
        monkeypatch.setenv("LEGATO_MODELS__HUGGINGFACE", hub.url)
        monkeypatch.setenv("LEGATO_MODELS__MODELSCOPE", hub.url)
        yield hub


def models(*args: str) -> Result:
    return CliRunner().invoke(application(), ["models", *args])


def told(*args: str) -> Any:
    result = models(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_model_is_pulled_listed_verified_and_removed(tmp_path: Path) -> None:
    place = tmp_path / "data" / "legato" / "models" / "huggingface" / "lark" / "bird"
    pulled = told("pull", BIRD)
    assert pulled["path"] == str(place)
    assert (pulled["files"], pulled["was_there"], pulled["size_only"]) == (2, False, [])
    assert pulled["fetched_bytes"] == pulled["size_bytes"] == 25_602

    listed = told("list")
    assert listed["folder"] == str(place.parents[2])
    assert [(one["model"], one["whole"]) for one in listed["models"]] == [(BIRD, True)]
    assert told("verify") == [{"model": BIRD, "files": 2, "faults": {}, "size_only": []}]
    removed = told("remove", BIRD, "--yes")
    assert (removed["removed"], removed["files"]) == ([str(place)], 3)
    assert told("list")["models"] == []


def test_what_people_are_told() -> None:
    assert "no models in" in models("list").stdout
    pulled = models("pull", BIRD)
    assert pulled.stdout.startswith(f"pulled: {BIRD}, 2 files, 25.6 kB, licence apache-2.0\n")
    assert pulled.stderr == f"legato: fetching {BIRD}: 2 files, 25.6 kB\n"
    assert models("pull", BIRD).stdout.startswith(f"already here: {BIRD}")
    assert "whole" in models("list").stdout
    assert models("verify").stdout == f"{BIRD}: 2 files are whole\n"
    assert models("remove", BIRD, "-y").stdout.startswith(f"removed {BIRD}: 3 files")
    assert models("verify").stdout == "no models\n"


def test_a_spoilt_model_is_found_and_the_way_out_named(tmp_path: Path) -> None:
    path = Path(told("pull", BIRD)["path"])
    (path / "model.bin").write_bytes(bytes(25_600))
    result = models("verify", BIRD)

    assert result.exit_code == Exit.FAILED
    assert result.stdout == f"{BIRD}: model.bin: wrong checksum\n"
    assert f"legato models pull {BIRD} --again" in result.stderr
    assert told("pull", BIRD, "--again")["fetched_bytes"] == 25_600
    assert models("verify", BIRD).exit_code == 0


def test_a_model_without_checksums_says_so(hub: Hubs) -> None:
    hub.tells_checksums = False
    name = "modelscope:lark/bird"
    assert told("pull", name)["size_only"] == ["a/tokens.txt", "model.bin"]
    assert models("verify", name).stdout == f"{name}: 2 files are whole (2 by their size only)\n"


def test_nothing_is_removed_that_nobody_said_yes_to() -> None:
    told("pull", BIRD)
    result = models("remove", BIRD)
    assert result.exit_code == Exit.USAGE
    assert "add --yes" in result.stderr
    assert len(told("list")["models"]) == 1


def test_a_partial_model_is_listed_and_can_be_removed(hub: Hubs, tmp_path: Path) -> None:
    hub.faults["model.bin"].statuses = [(403, None)]
    assert models("pull", BIRD).exit_code == Exit.DENIED
    assert "partial, " in models("list").stdout
    assert not told("list")["models"][0]["whole"]
    assert models("verify", BIRD).exit_code == Exit.BAD_INPUT
    assert told("remove", BIRD, "--yes")["files"] >= 1
    assert told("list")["models"] == []


@pytest.mark.parametrize(
    ("args", "code", "exit_"),
    [
        (("pull", "cosyvoic2"), "unknown_model", Exit.BAD_INPUT),
        (("pull", "huggingface:lark/nest"), "unknown_model", Exit.BAD_INPUT),
        (("pull", "cosyvoice2", "--hub", "github"), "bad_usage", Exit.USAGE),
        (("verify", BIRD), "unknown_model", Exit.BAD_INPUT),
        (("remove", BIRD, "--yes"), "unknown_model", Exit.BAD_INPUT),
        (("list", "--config", "none.toml"), "bad_settings", Exit.USAGE),
    ],
)
def test_a_failure_is_one_sentence(args: tuple[str, ...], code: str, exit_: Exit) -> None:
    result = models(*args)
    assert (result.exit_code, result.stdout) == (exit_, "")
    assert result.stderr.startswith(f"legato: {code}: ")
    assert result.stderr.count("\n") == 1


def test_without_a_network_it_is_said_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_MODELS__HUGGINGFACE", "http://127.0.0.1:1")
    monkeypatch.setenv("LEGATO_MODELS__TRIES", "1")
    result = models("pull", BIRD)
    assert result.exit_code == Exit.UNREACHABLE
    assert "hub_unreachable: 127.0.0.1:1 cannot be reached" in result.stderr


def test_every_known_model_is_listed_with_whether_it_was_tried() -> None:
    known = told("list", "--known")["known"]
    assert [one["name"] for one in known] == [one.name for one in KNOWN]
    assert not any(one["verified"] for one in known)
    assert "not tried with this version" in models("list", "--known").stdout


def test_a_short_name_finds_what_was_pulled_from_either_hub(hub: Hubs) -> None:
    paths = ("model.bin", "config.json", "tokenizer.json", ".gitattributes")
    hub.files["Systran/faster-whisper-tiny"] = dict.fromkeys(paths, b"x")
    assert told("pull", "whisper-tiny")["files"] == 3
    assert told("pull", "whisper-tiny", "--all")["files"] == 4
    assert "for the engine faster-whisper" in models("pull", "whisper-tiny").stderr
    assert told("verify", "whisper-tiny")[0]["files"] == 4
    assert (
        told("remove", "whisper-tiny", "-y")["model"] == "huggingface:Systran/faster-whisper-tiny"
    )


def test_another_folder_may_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    assert told("pull", BIRD, "--folder", str(folder))["path"].startswith(str(folder))
    assert told("list")["models"] == []
    assert len(told("list", "--folder", str(folder))["models"]) == 1
