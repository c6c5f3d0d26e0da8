import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from legato.engines import registry
from legato.engines.base import EngineKind, Recognizer, Synthesizer
from legato.engines.installation import add_command
from legato.errors import EngineUnavailable, UnknownEngine

THIRD_PARTY = '''
from legato.engines.tone import ToneSynthesizer
from legato.errors import EngineUnavailable

class Lark(ToneSynthesizer):
    """A synthesizer of another distribution."""

class Locked(ToneSynthesizer):
    add_command = "pip install key"
    def check(self):
        raise EngineUnavailable("no key; pip install key")

class Tuned(ToneSynthesizer):
    def __init__(self, *, pitch=0):
        self.pitch = pitch
    def check(self):
        if not self.pitch:
            raise EngineUnavailable("pitch is not set")

class Nothing:
    """No engine at all."""
'''
ENTRY_POINTS = """[legato.synthesizers]
lark = lark_engine:Lark
locked = lark_engine:Locked
tuned = lark_engine:Tuned
nothing = lark_engine:Nothing
lost = lark_engine:Lost
absent = no_such_module:Engine
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution of somebody else, with engines good and bad."""
    info = tmp_path / "lark_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lark-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "lark_engine.py").write_text(THIRD_PARTY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "lark_engine", raising=False)


def test_our_engines_are_registered() -> None:
    synthesizers = [listing.name for listing in registry.listings(EngineKind.SYNTHESIZE)]
    recognizers = [listing.name for listing in registry.listings(EngineKind.RECOGNIZE)]
    assert {"hibari", "espeak", "tone"} <= set(synthesizers)
    assert {"moonshine", "tone"} <= set(recognizers)


@pytest.mark.parametrize("kind", EngineKind)
def test_every_engine_says_of_itself_what_it_is_registered_as(kind: EngineKind) -> None:
    for listing in registry.listings(kind):
        assert listing.info is not None
        assert (listing.info.name, listing.info.kind) == (listing.name, kind)


def test_the_defaults_are_real_voices_and_ears() -> None:
    assert registry.default(EngineKind.SYNTHESIZE) == "hibari"
    assert registry.default(EngineKind.RECOGNIZE) == "moonshine"


def test_an_engine_is_made_by_name() -> None:
    assert isinstance(registry.create(EngineKind.SYNTHESIZE, "tone"), Synthesizer)
    assert isinstance(registry.create(EngineKind.RECOGNIZE, "tone"), Recognizer)


def test_an_unknown_engine_is_refused_with_those_at_hand() -> None:
    with pytest.raises(UnknownEngine, match=r"'siren'.*at hand: .*hibari.*tone"):
        registry.create(EngineKind.SYNTHESIZE, "siren")
    with pytest.raises(UnknownEngine, match="moonshine"):
        registry.describe(EngineKind.RECOGNIZE, "siren")


def test_espeak_says_how_it_is_added() -> None:
    (espeak,) = [x for x in registry.listings(EngineKind.SYNTHESIZE) if x.name == "espeak"]
    assert espeak.add_command is not None
    assert add_command("espeak") in espeak.add_command
    assert "restart" in espeak.add_command


@pytest.mark.usefixtures("third_party")
def test_engines_of_other_distributions_count_as_much() -> None:
    assert "lark" in registry.available(EngineKind.SYNTHESIZE)
    assert type(registry.create(EngineKind.SYNTHESIZE, "lark")).__name__ == "Lark"


@pytest.mark.usefixtures("third_party")
def test_an_engine_that_cannot_be_used_is_listed_with_the_reason() -> None:
    listings = {x.name: x for x in registry.listings(EngineKind.SYNTHESIZE)}
    assert listings["locked"].missing == "no key; pip install key"
    assert listings["locked"].add_command == "pip install key"
    assert listings["locked"].info is not None
    assert listings["absent"].info is None
    assert "no_such_module" in str(listings["absent"].missing)
    assert "Lost" in str(listings["lost"].missing)
    assert "no Synthesizer" in str(listings["nothing"].missing)
    assert {"locked", "absent", "lost", "nothing"}.isdisjoint(
        registry.available(EngineKind.SYNTHESIZE)
    )


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize("name", ["locked", "absent", "lost", "nothing"])
def test_an_engine_that_cannot_be_used_is_not_made(name: str) -> None:
    with pytest.raises(EngineUnavailable):
        registry.create(EngineKind.SYNTHESIZE, name)


def test_without_its_package_a_default_engine_names_the_line_that_adds_it() -> None:
    """In a fresh process, where the packages of the voices extra cannot be found."""
    script = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('hibari', 'moonshine_voice', 'onnxruntime'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "hidden = {'hibari', 'moonshine_voice', 'onnxruntime'}\n"
        "importlib.util.find_spec = lambda n, p=None: None if n in hidden else find(n, p)\n"
        "from legato.engines import registry\n"
        "from legato.engines.base import EngineKind\n"
        "for kind in EngineKind:\n"
        "    try:\n"
        "        registry.default(kind)\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error)\n"
        "    print('tone' in registry.available(kind))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    lines = run.stdout.splitlines()
    assert len(lines) == 4
    for line in lines[::2]:
        assert line.startswith("EngineUnavailable")
        assert add_command("voices") in line
    assert lines[1::2] == ["True", "True"]


def test_listing_engines_loads_no_weights_and_nothing_of_the_gpl() -> None:
    script = (
        "import sys\n"
        "from legato.engines import registry\n"
        "from legato.engines.base import EngineKind\n"
        "for kind in EngineKind: registry.listings(kind)\n"
        "heavy = {'espeakng_loader', 'moonshine_voice', 'onnxruntime'}\n"
        "print(*sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == []


@pytest.mark.usefixtures("third_party")
def test_an_engine_is_listed_and_made_with_its_options() -> None:
    kind, options = EngineKind.SYNTHESIZE, {"pitch": 3}
    assert registry.listing(kind, "tuned").missing == "pitch is not set"
    assert registry.listing(kind, "tuned", options).missing is None
    assert vars(registry.create(kind, "tuned", options)) == options
    wrong = registry.listing(kind, "tuned", {"colour": "red"})
    assert "tuned does not take these options" in (wrong.missing or "")


def test_the_distributions_are_read_once_for_all_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    read, reads = importlib.metadata.entry_points, []

    def counted(*, group: str) -> importlib.metadata.EntryPoints:
        reads.append(group)
        return read(group=group)

    monkeypatch.setattr(importlib.metadata, "entry_points", counted)
    assert len(registry.listings(EngineKind.SYNTHESIZE)) > 1
    assert reads == ["legato.synthesizers"]
