"""The engines behind gRPC: CosyVoice's own server and Triton."""

import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest

from legato.audio import to_int16
from legato.engines.upstream.cosyvoice_grpc import CosyVoiceGrpc
from legato.engines.upstream.triton import CosyVoiceTriton
from legato.errors import (
    EngineFailed,
    EngineTimeout,
    EngineUnavailable,
    LegatoError,
    Overloaded,
)
from tests.standins.upstream.rpc import CosyVoiceRpc, Rpc, TritonHttp, TritonRpc, Trouble
from tests.standins.upstream.sound import as_pcm, spoken
from tests.standins.upstream.web import eventually, unused_port
from tests.unit.engines.upstream.stage import REQUEST, prompt

TEXT = "Good morning."
Kind = type[CosyVoiceGrpc] | type[CosyVoiceTriton]


@contextmanager
def engine(
    kind: Kind, folder: Path, *urls: str, **options: object
) -> Iterator[CosyVoiceGrpc | CosyVoiceTriton]:
    quick = {
        "first_byte_timeout": 1.0,
        "idle_timeout": 0.5,
        "probe_interval": 0,
        "prompts": [prompt(folder, "anna")],
    }
    with closing(kind(**{**quick, "urls": urls, **options})) as made:
        made.load()
        yield made


def speak(engine: CosyVoiceGrpc | CosyVoiceTriton) -> bytes:
    return b"".join(chunk.pcm for chunk in engine.synthesize(REQUEST, [TEXT]))


@pytest.fixture(params=[(CosyVoiceRpc, CosyVoiceGrpc), (TritonRpc, CosyVoiceTriton)])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Rpc, Kind]]:
    server, kind = request.param
    with closing(server()) as running:
        yield running, kind


FAULTS = {
    "no audio": (Trouble(mute=True), EngineFailed),
    "too many": (Trouble(status=grpc.StatusCode.RESOURCE_EXHAUSTED), Overloaded),
    "internal": (Trouble(status=grpc.StatusCode.UNKNOWN), EngineFailed),
    "denied": (Trouble(status=grpc.StatusCode.UNAUTHENTICATED), EngineUnavailable),
    "bad": (Trouble(status=grpc.StatusCode.INVALID_ARGUMENT), EngineFailed),
    "slow": (Trouble(hang=True), EngineTimeout),
    "stalled": (Trouble(hang=True, after=1), EngineTimeout),
    "broken off": (Trouble(status=grpc.StatusCode.UNAVAILABLE, after=1), EngineUnavailable),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_becomes_one_of_our_codes(
    name: str, pair: tuple[Rpc, Kind], tmp_path: Path
) -> None:
    server, kind = pair
    trouble, error = FAULTS[name]
    server.troubles.append(trouble)
    with engine(kind, tmp_path, server.url) as made, pytest.raises(LegatoError) as caught:
        speak(made)
    assert type(caught.value) is error


def test_another_server_is_tried_before_the_first_sample(
    pair: tuple[Rpc, Kind], tmp_path: Path
) -> None:
    server, kind = pair
    with engine(kind, tmp_path, f"grpc://127.0.0.1:{unused_port()}", server.url) as made:
        assert speak(made)
        assert speak(made)


def test_a_closed_stream_cancels_its_call(pair: tuple[Rpc, Kind], tmp_path: Path) -> None:
    server, kind = pair
    server.troubles.append(Trouble(hang=True, after=1))
    with engine(kind, tmp_path, server.url, idle_timeout=8.0) as made:
        chunks = made.synthesize(REQUEST, [TEXT])
        next(chunks)
        thread = threading.Thread(target=lambda: list(chunks))
        thread.start()
        chunks.close()  # type: ignore[attr-defined]  # every engine's iterator has it
        thread.join(5)
        assert not thread.is_alive()
        assert server.cancelled.acquire(timeout=5)


def test_the_grpc_server_is_given_its_prompt_as_samples(tmp_path: Path) -> None:
    with closing(CosyVoiceRpc()) as server, engine(CosyVoiceGrpc, tmp_path, server.url) as made:
        assert speak(made) == as_pcm(spoken(TEXT, 24_000))
        (asked,) = server.asked
    wanted = asked.zero_shot
    assert (wanted.tts_text, wanted.prompt_text) == (TEXT, "I said this.")
    assert len(wanted.prompt_audio) == pytest.approx(3 * 16_000 * 2, rel=0.01)


@pytest.mark.parametrize(
    ("options", "which"),
    [
        ({"version": 1, "mode": "sft", "speakers": ["a"]}, "sft"),
        (
            {"version": 1, "mode": "instruct", "speakers": ["a"], "instruct_text": "softly"},
            "instruct",
        ),
        ({"mode": "cross_lingual"}, "cross_lingual"),
    ],
)
def test_each_mode_has_its_message(options: dict[str, object], which: str, tmp_path: Path) -> None:
    with (
        closing(CosyVoiceRpc()) as server,
        engine(CosyVoiceGrpc, tmp_path, server.url, **options) as made,
    ):
        assert speak(made)
        assert server.asked[0].WhichOneof("payload") == which


def test_grpc_has_no_instruct_for_later_versions(tmp_path: Path) -> None:
    options = {"mode": "instruct", "instruct_text": "softly"}
    with (
        pytest.raises(EngineUnavailable, match="for version 1 alone"),
        engine(CosyVoiceGrpc, tmp_path, "grpc://127.0.0.1:1", **options),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "instruct", "instruct_text": "x"}, "have no instruct"),
        ({"version": 1}, "version 2 and 3"),
    ],
)
def test_triton_has_fewer_modes(options: dict[str, object], said: str, tmp_path: Path) -> None:
    with (
        pytest.raises(EngineUnavailable, match=said),
        engine(CosyVoiceTriton, tmp_path, "http://127.0.0.1:1", **options),
    ):
        pass


def test_what_triton_sends_louder_than_full_scale_is_clipped(tmp_path: Path) -> None:
    with closing(TritonRpc()) as server, engine(CosyVoiceTriton, tmp_path, server.url) as made:
        heard = np.frombuffer(speak(made), "<i2")
    assert np.array_equal(heard, to_int16(spoken(TEXT, 24_000) * 4))
    assert heard.max() == 32_767


def test_triton_is_given_the_prompt_as_tensors(tmp_path: Path) -> None:
    with closing(TritonRpc()) as server, engine(CosyVoiceTriton, tmp_path, server.url) as made:
        speak(made)
        (asked,) = server.asked
    names = [(one.name, one.datatype) for one in asked.inputs]
    assert names == [
        ("reference_wav", "FP32"),
        ("reference_wav_len", "INT32"),
        ("reference_text", "BYTES"),
        ("target_text", "BYTES"),
    ]
    said = b"I said this."
    assert asked.raw_input_contents[2] == struct.pack("<I", len(said)) + said
    assert asked.model_name == "cosyvoice2"


def test_an_error_of_tritons_model_is_an_engine_failed(tmp_path: Path) -> None:
    with closing(TritonRpc()) as server, engine(CosyVoiceTriton, tmp_path, server.url) as made:
        server.troubles.append(Trouble(error="CUDA out of memory"))
        with pytest.raises(EngineFailed, match="CUDA out of memory"):
            speak(made)


def test_triton_over_http_speaks_part_by_part(tmp_path: Path) -> None:
    with closing(TritonHttp()) as web, engine(CosyVoiceTriton, tmp_path, web.url) as made:
        assert speak(made)
    assert [asked.path for asked in web.asked] == ["/v2/models/cosyvoice2/infer"]


def test_a_model_that_triton_does_not_have_is_told(tmp_path: Path) -> None:
    with (
        closing(TritonHttp()) as web,
        engine(CosyVoiceTriton, tmp_path, web.url, model_name="lark") as made,
        pytest.raises(EngineUnavailable, match="unknown model"),
    ):
        speak(made)


def test_calls_leave_no_thread(tmp_path: Path) -> None:
    with closing(CosyVoiceRpc()) as server, engine(CosyVoiceGrpc, tmp_path, server.url) as made:
        speak(made)
        assert eventually(
            lambda: not [one for one in threading.enumerate() if one.name == "silence"]
        )
