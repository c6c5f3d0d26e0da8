import queue
from collections.abc import Iterable, Iterator

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Ability, Checkpoint, EngineInfo, EngineKind
from legato.errors import UnsupportedOption
from legato.protocol.messages import EndpointingSettings, StreamStart
from legato.speech import Endpointing, RecognitionRequest, Transcript
from legato.worker.board import NoBoard
from legato.worker.frames import CallOutput, EndInput, Finished, Heard, Listen
from legato.worker.hearing import check_abilities, request_for
from legato.worker.service import service_for

AUDIO = AudioFormat(16_000)
PLAIN = EngineInfo(name="plain", kind=EngineKind.RECOGNIZE, version="1", format=None)


def start(**fields: object) -> StreamStart:
    return StreamStart(stream_id="s", task="recognize", **fields)  # type: ignore[arg-type]  # by name


def test_all_that_a_client_asks_for_reaches_the_engine() -> None:
    options = {"punctuation": False, "inverse_normalization": True, "speakers": True, "beams": 3}
    asked = start(
        language="zh-CN",
        hotwords=["Legato"],
        options=options,
        endpointing=EndpointingSettings(silence=0.3, threshold=0.6),
    )
    assert request_for(asked, AUDIO) == RecognitionRequest(
        format=AUDIO,
        language="zh-CN",
        endpointing=Endpointing(silence=0.3, threshold=0.6),
        hotwords=("Legato",),
        punctuation=False,
        inverse_normalization=True,
        options={"beams": 3, "speakers": True},
    )


def test_what_is_not_asked_for_is_left_to_the_engine() -> None:
    assert request_for(start(), AUDIO) == RecognitionRequest(format=AUDIO)
    plain = request_for(start(language="auto", options={"speakers": False}), AUDIO)
    assert plain == RecognitionRequest(format=AUDIO)


def test_a_worker_checks_again_what_its_engine_can_do() -> None:
    check_abilities(start(options={"speakers": False, "punctuation": False}), PLAIN)
    for ability, asked in (
        (Ability.HOTWORDS, start(hotwords=["a"])),
        (Ability.SPEAKERS, start(options={"speakers": True})),
        (Ability.LANGUAGE_DETECTION, start(language="auto")),
    ):
        able = EngineInfo(
            name="able",
            kind=EngineKind.RECOGNIZE,
            version="1",
            format=None,
            abilities=frozenset({ability}),
        )
        check_abilities(asked, able)
        with pytest.raises(UnsupportedOption, match="'plain' does not have"):
            check_abilities(asked, PLAIN)


class Writer:
    """Writes punctuation whether it is wanted or not."""

    info = PLAIN

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        assert list(audio) == []
        yield Transcript(text="Well, then.", final=True)


@pytest.mark.parametrize(
    ("wanted", "text"), [(None, "Well, then."), (True, "Well, then."), (False, "Well then")]
)
def test_punctuation_that_is_not_wanted_is_taken_out_of_any_engines_text(
    wanted: bool | None, text: str
) -> None:
    outputs: queue.SimpleQueue[CallOutput] = queue.SimpleQueue()
    request = RecognitionRequest(format=AUDIO, punctuation=wanted)
    service = service_for(Listen(3, 0, request), Writer(), board=NoBoard(1), send=outputs.put)
    service.start()
    service.deliver(EndInput(3))
    heard, end = outputs.get(timeout=20), outputs.get(timeout=20)
    assert isinstance(heard, Heard)
    assert heard.transcript.text == text
    assert isinstance(end, Finished)
