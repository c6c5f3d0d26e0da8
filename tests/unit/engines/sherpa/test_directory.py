from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from legato.engines.sherpa.directory import RECOGNIZERS, SYNTHESIZERS, Model, ModelType, find
from legato.errors import EngineUnavailable
from tests.unit.engines.sherpa import graphs

MADE: dict[ModelType, Callable[[Path], Path]] = {
    ModelType.TRANSDUCER: graphs.streaming_transducer,
    ModelType.CTC: graphs.streaming_ctc,
    ModelType.SENSE_VOICE: graphs.sense_voice,
    ModelType.KOKORO: graphs.kokoro,
    ModelType.MATCHA: graphs.matcha,
    ModelType.VITS: graphs.lexicon_vits,
}


def found(folder: Path, model_type: str = "", precision: str = "int8") -> Model:
    kinds = [*RECOGNIZERS, *SYNTHESIZERS]
    return find(str(folder), kinds, model_type=model_type, precision=precision)


def with_metadata(path: Path, **entries: str) -> None:
    """Write a small model that says these things of itself."""
    graph = onnx.helper.make_graph([], "empty", [], [])
    model = onnx.helper.make_model(graph)
    onnx.helper.set_model_props(model, entries)
    onnx.save(model, path)


@pytest.mark.parametrize("kind", MADE)
def test_the_files_tell_the_kind(tmp_path: Path, kind: ModelType) -> None:
    folder = MADE[kind](tmp_path)
    model = found(folder)
    assert model.type is kind
    assert model.folder == folder
    assert all(path.is_file() for path in model.files.values())
    assert found(folder, kind) == model


@pytest.mark.parametrize(
    ("names", "entries", "kind"),
    [
        (
            ("encoder.int8.onnx", "decoder.int8.onnx"),
            {"neg_mean": "0", "inv_stddev": "1", "lfr_window_size": "7", "lfr_window_shift": "6"},
            ModelType.STREAMING_PARAFORMER,
        ),
        (
            ("model.int8.onnx",),
            {
                "model_type": "paraformer",
                "vocab_size": "9",
                "lfr_window_size": "7",
                "neg_mean": "0",
                "inv_stddev": "1",
            },
            ModelType.PARAFORMER,
        ),
        (
            ("tiny-encoder.int8.onnx", "tiny-decoder.int8.onnx"),
            {"model_type": "whisper-tiny"},
            ModelType.WHISPER,
        ),
        (
            (
                "preprocess.onnx",
                "encode.int8.onnx",
                "uncached_decode.int8.onnx",
                "cached_decode.int8.onnx",
            ),
            {},
            ModelType.MOONSHINE,
        ),
    ],
)
def test_kinds_that_are_told_by_names(
    tmp_path: Path, names: tuple[str, ...], entries: dict[str, str], kind: ModelType
) -> None:
    for name in names:
        with_metadata(tmp_path / name, **entries)
    graphs.tokens_file(tmp_path / "tokens.txt", ("<blk>", "a"))
    assert found(tmp_path).type is kind


def test_a_wrong_directory_is_told_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "tokens.txt").write_text("a 0\n")
    with pytest.raises(EngineUnavailable) as raised:
        find(str(tmp_path), RECOGNIZERS)
    for expected in ("joiner*.onnx", "sense-voice has model*.onnx", "whisper", "docs/sherpa.md"):
        assert expected in raised.value.message


def test_no_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="model_dir is not set"):
        find("", RECOGNIZERS)
    with pytest.raises(EngineUnavailable, match="is not a folder"):
        find(str(tmp_path / "none"), RECOGNIZERS)


def test_an_unknown_model_type_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="wav2vec is none of transducer"):
        found(tmp_path, "wav2vec")


def test_a_model_that_does_not_stream_is_refused(tmp_path: Path) -> None:
    graphs.streaming_transducer(tmp_path)
    with_metadata(
        tmp_path / "encoder-epoch-99-avg-1.onnx",
        model_type="zipformer2",
        comment="non-streaming zipformer2",
    )
    with pytest.raises(EngineUnavailable, match="does not stream"):
        find(str(tmp_path), RECOGNIZERS)


def test_what_would_end_the_process_is_found_before(tmp_path: Path) -> None:
    graphs.lexicon_vits(tmp_path)
    with_metadata(tmp_path / "model.onnx", model_type="vits", comment="", language="English")
    with pytest.raises(EngineUnavailable, match="lacks the metadata sample_rate, n_speakers"):
        find(str(tmp_path), SYNTHESIZERS)


def test_a_plain_voice_of_pipers_is_not_enough(tmp_path: Path) -> None:
    with_metadata(tmp_path / "en_US-joe-medium.onnx")
    graphs.tokens_file(tmp_path / "tokens.txt", ("_", "a"))
    with pytest.raises(EngineUnavailable, match="says of its model_type 'nothing'"):
        find(str(tmp_path), SYNTHESIZERS)


def test_any_file_that_is_cut_short_is_found(tmp_path: Path) -> None:
    joiner = graphs.streaming_transducer(tmp_path) / "joiner-epoch-99-avg-1.onnx"
    joiner.write_bytes(joiner.read_bytes()[:-3])
    with pytest.raises(EngineUnavailable, match=r"joiner-epoch-99-avg-1.* is cut short"):
        find(str(tmp_path), RECOGNIZERS)


def test_precision_chooses_among_files(tmp_path: Path) -> None:
    folder = graphs.sense_voice(tmp_path)
    whole = folder / "model.onnx"
    whole.write_bytes((folder / "model.int8.onnx").read_bytes())
    assert found(folder).files["model"].name == "model.int8.onnx"
    assert found(folder, precision="fp32").files["model"].name == "model.onnx"


def test_a_vocoder_may_lie_elsewhere(tmp_path: Path) -> None:
    folder = graphs.matcha(tmp_path / "matcha")
    vocoder = (folder / "hifigan_v2.onnx").rename(tmp_path / "hifigan_v2.onnx")
    with pytest.raises(EngineUnavailable, match=r"matcha has vocos\*.onnx\|hifigan\*.onnx"):
        find(str(folder), SYNTHESIZERS)
    model = find(str(folder), SYNTHESIZERS, elsewhere={"vocoder": vocoder})
    assert model.files["vocoder"] == vocoder
