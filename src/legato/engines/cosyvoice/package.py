"""The package `cosyvoice`, which is no package of the index: found, imported, asked for a model."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, Final

from legato.engines.cosyvoice.config import Config
from legato.engines.cosyvoice.directory import Version
from legato.errors import EngineUnavailable

MODULE: Final = "cosyvoice.cli.cosyvoice"
_MATCHA: Final = "third_party/Matcha-TTS"
_FLAGS: Final = {
    # Option, CosyVoice's name, versions that have it.
    "jit": ("load_jit", (1, 2)),
    "trt": ("load_trt", (1, 2, 3)),
    "vllm": ("load_vllm", (2, 3)),
    "fp16": ("fp16", (1, 2, 3)),
}


def check(config: Config, version: Version) -> None:
    """Look whether the package is there and has what is asked of it, without importing it.

    Raises:
        EngineUnavailable: If not; says what to do about it.
    """
    for option, (_, versions) in _FLAGS.items():
        if getattr(config, option) and version.number not in versions:
            raise EngineUnavailable(f"cosyvoice: CosyVoice {version.number} has no {option}")
    if config.source_dir:
        if not Path(config.source_dir, "cosyvoice", "cli").is_dir():
            raise EngineUnavailable(
                f"cosyvoice: source_dir {config.source_dir} is no checkout of CosyVoice: it has no"
                " folder cosyvoice/cli"
            )
    elif importlib.util.find_spec("cosyvoice") is None:
        raise EngineUnavailable(
            "the package cosyvoice is not installed; clone"
            " https://github.com/FunAudioLLM/CosyVoice with --recursive and name the folder as"
            " source_dir, see docs/cosyvoice.md"
        )


def auto_model(config: Config, version: Version) -> Any:
    """Return a model, loaded.

    Raises:
        EngineUnavailable: If it cannot be loaded; names what is missing.
    """
    module = _imported(config)
    flags = [option for option in _FLAGS if getattr(config, option)]
    if flags and not has_cuda():
        # CosyVoice would go on without them, in silence.
        raise EngineUnavailable(
            f"cosyvoice: {', '.join(flags)} need CUDA, and torch sees none here; take them out of"
            " the options, or install a driver and a torch that fits it (nvidia-smi tells which)"
        )
    wanted: dict[str, object] = {_FLAGS[option][0]: True for option in flags}
    if config.trt:
        wanted["trt_concurrent"] = config.parallel
    try:
        return module.AutoModel(model_dir=config.model_dir, **wanted)
    except Exception as error:  # whatever loading a model may raise
        raise EngineUnavailable(
            f"cosyvoice: {config.model_dir} (version {version.number}) cannot be loaded:"
            f" {type(error).__name__}: {error}"
        ) from error


def has_cuda() -> bool:
    """Whether the torch that CosyVoice has imported sees a graphics card."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def _imported(config: Config) -> Any:
    if config.source_dir:
        source = Path(config.source_dir).resolve()
        for folder in (str(source / _MATCHA), str(source)):
            if folder not in sys.path:
                sys.path.insert(0, folder)
    try:
        module: Any = importlib.import_module(MODULE)
    except ImportError as error:
        missing = getattr(error, "name", None) or str(error)
        raise EngineUnavailable(
            f"cosyvoice cannot be imported: {missing} is missing; install what CosyVoice needs, see"
            " docs/cosyvoice.md"
        ) from error
    if not hasattr(module, "AutoModel"):
        raise EngineUnavailable(
            "this cosyvoice has no AutoModel: it is older than version 3; update the checkout"
        )
    return module
