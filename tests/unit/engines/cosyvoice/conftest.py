from collections.abc import Iterator
from pathlib import Path

import pytest

from legato.engines.cosyvoice.engine import CosyVoice
from tests.unit.engines.cosyvoice.stage import loaded


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[CosyVoice]:
    """Version 2, zero-shot, on the stand-in."""
    with loaded(tmp_path) as engine:
        yield engine
