"""The public contract of synthesizers, kept on a stand-in that by itself keeps little of it."""

from collections.abc import Iterator

import pytest

from legato.engines.base import Synthesizer
from legato.testing.engines import SynthesizerContract
from tests.unit.engines.cosyvoice.stage import behind, loaded


class OnStandIn(SynthesizerContract):
    number = 2
    more: dict[str, object] = {}  # noqa: RUF012  read only

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        with loaded(tmp_path_factory.mktemp("cosyvoice"), cls.number, **cls.more) as engine:
            for number in range(engine.info.slots):
                behind(engine, number).model.token_pause = 0.0
            yield engine


class TestVersion1(OnStandIn):
    number = 1


class TestVersion2(OnStandIn):
    more = {"models": 2}  # noqa: RUF012  read only


class TestVersion3(OnStandIn):
    number = 3


class TestUnchunked(OnStandIn):
    more = {"streaming": False}  # noqa: RUF012  read only


class TestTextStreaming(OnStandIn):
    more = {"text_streaming": True}  # noqa: RUF012  read only
