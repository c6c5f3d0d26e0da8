"""What a model directory holds, told without loading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from legato.errors import EngineUnavailable
from legato.speech.scripts import Script

_CJK: Final = frozenset({Script.LATIN, Script.HAN, Script.KANA, Script.HANGUL})


@dataclass(frozen=True, slots=True)
class Version:
    """One of the versions of CosyVoice.

    Attributes:
        number: 1, 2 or 3.
        rate_hz: Sample rate of its audio.
        languages: BCP 47 tags.
        scripts: What it reads.
    """

    number: int
    rate_hz: int
    languages: tuple[str, ...]
    scripts: frozenset[Script]

    @property
    def yaml(self) -> str:
        """Name of the file by which CosyVoice knows the version of a model."""
        return f"cosyvoice{self.number if self.number > 1 else ''}.yaml"


VERSIONS: Final = (
    Version(1, 22_050, ("zh-CN", "en-US", "ja-JP", "yue-HK", "ko-KR"), _CJK),
    Version(2, 24_000, ("zh-CN", "en-US", "ja-JP", "ko-KR"), _CJK),
    Version(
        3,
        24_000,
        ("zh-CN", "en-US", "ja-JP", "ko-KR", "de-DE", "es-ES", "fr-FR", "it-IT", "ru-RU"),
        _CJK | {Script.CYRILLIC},
    ),
)
"""Rates: the `sample_rate` of each version's yaml. Languages: the READMEs of the models."""

_WEIGHTS: Final = ("llm.pt", "flow.pt", "hift.pt")


def version_of(model_dir: str) -> Version:
    """Return the version of the model in a directory.

    Raises:
        EngineUnavailable: If there is none; names the file that is missing.
    """
    if not model_dir:
        raise EngineUnavailable(
            "cosyvoice: model_dir is not set; name the folder of a model in the engine's options,"
            " see docs/cosyvoice.md"
        )
    folder = Path(model_dir)
    if not folder.is_dir():
        raise EngineUnavailable(
            f"cosyvoice: model_dir {model_dir} is not a folder; download the model first, nothing"
            " is downloaded here"
        )
    for version in VERSIONS:
        if (folder / version.yaml).is_file():
            return version
    expected = ", ".join(version.yaml for version in VERSIONS)
    raise EngineUnavailable(
        f"cosyvoice: {model_dir} is no model of CosyVoice: it has none of {expected}"
    )


def missing_weights(model_dir: str) -> list[str]:
    """Return the weight files that are not there, or are pointers to Git LFS only."""
    return [name for name in _WEIGHTS if not _is_whole(Path(model_dir, name))]


def _is_whole(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return not file.read(24).startswith(b"version https://git-lfs")
