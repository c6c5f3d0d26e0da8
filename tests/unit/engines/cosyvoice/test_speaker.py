import logging
from types import SimpleNamespace

import pytest

from legato.engines.cosyvoice.config import Config, Mode
from legato.engines.cosyvoice.directory import VERSIONS
from legato.engines.cosyvoice.speaker import Speaker


class Strange(SimpleNamespace):
    """A CosyVoice whose modules import other names."""


def test_a_cosyvoice_that_cannot_be_mended_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    cosyvoice = Strange(model=Strange(), sample_rate=24_000)
    speaker = Speaker(cosyvoice, VERSIONS[1], Config(mode=Mode.SFT))
    with caplog.at_level(logging.WARNING):
        speaker.mend()
    speaker.unmend()
    assert "['threading', 'time', 'uuid']" in caplog.text
