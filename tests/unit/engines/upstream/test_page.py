"""What docs/upstreams.md says of the options is what they are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from legato import settings
from legato.engines.base import EngineKind
from legato.engines.upstream import dashscope_options, openai_options
from legato.engines.upstream.config import Upstreams
from legato.engines.upstream.cosyvoice_grpc import CosyVoiceGrpc
from legato.engines.upstream.cosyvoice_http import CosyVoiceHttp
from legato.engines.upstream.dashscope_recognition import DashScopeRecognition
from legato.engines.upstream.dashscope_speech import DashScopeSpeech
from legato.engines.upstream.engine import UpstreamEngine
from legato.engines.upstream.openai_speech import OpenAISpeech
from legato.engines.upstream.openai_transcription import OpenAITranscription
from legato.engines.upstream.triton import CosyVoiceTriton, TritonOptions
from legato.errors import EngineUnavailable
from tests.architecture.checkout import ROOT

PAGE = (ROOT / "docs" / "upstreams.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
ENGINES: dict[tuple[EngineKind, str], Callable[..., UpstreamEngine]] = {
    (EngineKind.SYNTHESIZE, "cosyvoice-http"): CosyVoiceHttp,
    (EngineKind.SYNTHESIZE, "cosyvoice-grpc"): CosyVoiceGrpc,
    (EngineKind.SYNTHESIZE, "cosyvoice-triton"): CosyVoiceTriton,
    (EngineKind.SYNTHESIZE, "dashscope"): DashScopeSpeech,
    (EngineKind.RECOGNIZE, "dashscope"): DashScopeRecognition,
    (EngineKind.SYNTHESIZE, "openai"): OpenAISpeech,
    (EngineKind.RECOGNIZE, "openai"): OpenAITranscription,
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_understood(example: str, tmp_path: Path) -> None:
    file = tmp_path / "legato.toml"
    file.write_text(example, encoding="utf-8")
    specs = settings.load(file=file).settings.worker.engines
    known = [spec for spec in specs if (spec.kind, spec.name) in ENGINES]
    assert known
    for spec in known:
        engine = ENGINES[spec.kind, spec.name](**dict(spec.options or {}))
        assert engine.info.name == spec.name
        assert engine.info.kind is spec.kind


def test_every_engine_has_an_example() -> None:
    for _, name in ENGINES:
        assert any(f'name = "{name}"' in example for example in EXAMPLES), name


@pytest.mark.parametrize(
    "options",
    [
        TritonOptions,
        dashscope_options.SpeechOptions,
        dashscope_options.RecognitionOptions,
        openai_options.SpeechOptions,
        openai_options.TranscriptionOptions,
    ],
)
def test_the_tables_have_every_option(options: type[Upstreams]) -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\w+", row)}
    assert set(options.__struct_fields__) <= named


def test_the_defaults_in_the_table_are_true() -> None:
    numbers = {name: getattr(Upstreams(), name) for name in Upstreams.__struct_fields__}
    for name, default in numbers.items():
        if isinstance(default, int | float):
            row = re.search(rf"^\| `{name}` \| (\S+) \|", PAGE, re.MULTILINE)
            assert row is not None, name
            assert row[1] == f"{default:g}"


def test_the_limit_of_the_worker_is_the_one_that_is_named() -> None:
    limit = settings.load(flags={}).settings.worker.engine_timeout
    assert f"`worker.engine_timeout` ({limit:g} s)" in PAGE


@pytest.mark.parametrize("key", ENGINES)
def test_without_options_an_engine_says_what_it_is_and_what_is_missing(
    key: tuple[EngineKind, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    engine = ENGINES[key]()
    assert (engine.info.kind, engine.info.name) == key
    with pytest.raises(EngineUnavailable, match=r"urls is not set|DASHSCOPE_API_KEY"):
        engine.check()
