"""The package sherpa-onnx: whether it is there, and its objects made of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from legato.engines.installation import add_command, require, version
from legato.engines.onnx import without_telemetry
from legato.engines.sherpa.config import Common, RecognizerConfig, SynthesizerConfig
from legato.engines.sherpa.directory import Model, ModelType
from legato.errors import EngineUnavailable

DISTRIBUTION: Final = "sherpa-onnx"


def check() -> None:
    """Look for the package without loading it.

    Raises:
        EngineUnavailable: If it is missing, or older than 2, which holds code of eSpeak NG (GPL)
            and knows no phonemes from outside.
    """
    require("sherpa_onnx", extra="sherpa")
    found = version(DISTRIBUTION)
    if found.split(".")[0] in ("0", "1"):
        raise EngineUnavailable(
            f"sherpa-onnx {found} is too old, 2.0 is needed; add it with {add_command('sherpa')}"
        )


def package() -> Any:
    """Return the package.

    Raises:
        EngineUnavailable: If it cannot be imported.
    """
    check()
    without_telemetry()
    try:
        import sherpa_onnx
    except ImportError as error:
        raise EngineUnavailable(f"sherpa-onnx cannot be imported: {error}") from error
    return sherpa_onnx


def _common(model: Model, config: Common) -> dict[str, Any]:
    paths = {role: str(path) for role, path in model.files.items()}
    return {**paths, "num_threads": config.threads, "provider": config.provider}


_STREAMING: Final = {
    ModelType.TRANSDUCER: "from_transducer",
    ModelType.CTC: "from_zipformer2_ctc",
    ModelType.STREAMING_PARAFORMER: "from_paraformer",
}
_WHOLE: Final = {
    ModelType.SENSE_VOICE: "from_sense_voice",
    ModelType.PARAFORMER: "from_paraformer",
    ModelType.WHISPER: "from_whisper",
    ModelType.MOONSHINE: "from_moonshine",
}


def streams(model: Model) -> bool:
    """Tell whether a model takes audio piece by piece."""
    return model.type in _STREAMING


def recognizer(model: Model, config: RecognizerConfig, extra: Mapping[str, object]) -> Any:
    """Return an `OnlineRecognizer` or `OfflineRecognizer`.

    Args:
        model: What to load.
        config: Options of the engine.
        extra: Further arguments, of this kind of model alone.

    Raises:
        EngineUnavailable: If sherpa-onnx does not take it.
    """
    sherpa = package()
    if streams(model):
        factory: Callable[..., Any] = getattr(sherpa.OnlineRecognizer, _STREAMING[model.type])
    else:
        factory = getattr(sherpa.OfflineRecognizer, _WHOLE[model.type])
    arguments = _common(model, config)
    if model.type is ModelType.PARAFORMER:
        arguments["paraformer"] = arguments.pop("model")
    return _made(model, lambda: factory(**arguments, **extra))


def voice(model: Model, config: SynthesizerConfig, lexicon: str, rules: Mapping[str, str]) -> Any:
    """Return an `OfflineTts`.

    Args:
        model: What to load.
        config: Options of the engine.
        lexicon: Paths of the lexicons, with commas between them.
        rules: Paths of the rules that rewrite a text, by argument.

    Raises:
        EngineUnavailable: If sherpa-onnx does not take it.
    """
    sherpa = package()
    kind = {
        ModelType.VITS: ("vits", sherpa.OfflineTtsVitsModelConfig),
        ModelType.MATCHA: ("matcha", sherpa.OfflineTtsMatchaModelConfig),
        ModelType.KOKORO: ("kokoro", sherpa.OfflineTtsKokoroModelConfig),
    }
    name, make = kind[model.type]
    paths = {role: str(path) for role, path in model.files.items()}

    def load() -> Any:
        whole = sherpa.OfflineTtsModelConfig(
            **{name: make(**paths, lexicon=lexicon)},
            num_threads=config.threads,
            provider=config.provider,
        )
        # One sentence a step: it is the soonest that there is audio, and that a stream can end.
        return sherpa.OfflineTts(sherpa.OfflineTtsConfig(model=whole, max_num_sentences=1, **rules))

    return _made(model, load)


def _made(model: Model, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        raise EngineUnavailable(
            f"sherpa-onnx cannot load {model.type} from {Path(model.folder)}: {error}"
        ) from error
