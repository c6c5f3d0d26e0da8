"""Tiny models with the shapes and metadata that sherpa-onnx expects, made with `onnx`.

They make the real package work: what they hear depends on the sound alone, what they say on the
tokens alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
TOKENS = ("<blk>", "▁ONE", "▁TWO", "▁THREE", "四", "五")
"""Of the streaming models; which one is heard depends on where in the spectrum the energy is."""

BANDS = ((0, 10), (10, 25), (25, 45), (45, 62), (62, 80))
RATE_HZ = 22_050
TOKEN_SAMPLES = 1_600
"""Samples for which a synthetic voice holds each token, at its own speed."""

_OPSET = 17
_STATES: dict[str, tuple[int, ...]] = {
    "key": (4, 1, 4),
    "nonlin": (1, 1, 4, 3),
    "val1": (4, 1, 4),
    "val2": (4, 1, 4),
    "conv1": (1, 4, 2),
    "conv2": (1, 4, 2),
    "embed": (1, 128, 3, 19),
}
_ZIPFORMER2 = {
    "model_type": "zipformer2",
    "encoder_dims": "4",
    "query_head_dims": "4",
    "value_head_dims": "4",
    "num_heads": "1",
    "num_encoder_layers": "1",
    "cnn_module_kernels": "4",
    "left_context_len": "4",
    "T": "45",
    "decode_chunk_len": "32",
}


def constant(name: str, value: ArrayLike, dtype: DTypeLike = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    *,
    constants: Sequence[TensorProto] = (),
    metadata: Mapping[str, object],
) -> None:
    graph = helper.make_graph(list(nodes), path.stem, list(inputs), list(outputs), list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    helper.set_model_props(model, {key: str(value) for key, value in metadata.items()})
    onnx.checker.check_model(model)
    onnx.save(model, path)


def value(name: str, kind: int, *shape: int | str | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def tokens_file(path: Path, tokens: Sequence[str]) -> None:
    path.write_text("".join(f"{token} {n}\n" for n, token in enumerate(tokens)), encoding="utf-8")


def bands(width: int, frames: int = 1) -> NDArray[np.float32]:
    """Weights that turn frames of 80 log energies into the mean of each band."""
    weights = np.zeros((frames, width, len(BANDS)), np.float32)
    for band, (low, high) in enumerate(BANDS):
        weights[:, low:high, band] = 1 / (high - low) / frames
    return weights.reshape(frames * width, len(BANDS))


def _states() -> tuple[list[onnx.ValueInfoProto], list[onnx.ValueInfoProto], list[onnx.NodeProto]]:
    inputs = [value(f"cached_{name}", FLOAT, *shape) for name, shape in _STATES.items()]
    outputs = [value(f"new_{name}", FLOAT, *shape) for name, shape in _STATES.items()]
    inputs.append(value("processed_lens", INT64, 1))
    outputs.append(value("new_processed_lens", INT64, 1))
    nodes = [
        helper.make_node("Identity", [one.name], [other.name])
        for one, other in zip(inputs, outputs, strict=True)
    ]
    return inputs, outputs, nodes


def _heard(output: str) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    """Nodes that turn `x` of (1, 45, 80) into scores of the tokens: (1, 8, 6)."""
    nodes = [
        helper.make_node("Slice", ["x", "from", "to", "axis"], ["chunk"]),
        helper.make_node("Reshape", ["chunk", "shape"], ["frames"]),
        helper.make_node("MatMul", ["frames", "bands"], ["energy"]),
        # Band 0 is always the loudest of speech: judge each against what is usual for it.
        helper.make_node("Add", ["energy", "usual"], ["heard"]),
        helper.make_node("Pad", ["heard", "pads", "silence"], [output]),
    ]
    constants = [
        constant("from", [0], np.int64),
        constant("to", [32], np.int64),
        constant("axis", [1], np.int64),
        constant("shape", [1, 8, 320], np.int64),
        constant("bands", bands(80, 4)),
        constant("usual", [0.0, 0.4, 1.2, 2.0, 2.8]),
        constant("pads", [0, 0, 1, 0, 0, 0], np.int64),
        constant("silence", -5.0),
    ]
    return nodes, constants


def streaming_ctc(folder: Path) -> Path:
    """A streaming zipformer2 CTC model."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs, outputs, nodes = _states()
    heard, constants = _heard("log_probs")
    save(
        folder / "ctc-epoch-20-avg-1-chunk-16-left-128.int8.onnx",
        [*heard, *nodes],
        [value("x", FLOAT, 1, 45, 80), *inputs],
        [value("log_probs", FLOAT, 1, 8, len(TOKENS)), *outputs],
        constants=constants,
        metadata=_ZIPFORMER2,
    )
    tokens_file(folder / "tokens.txt", TOKENS)
    return folder


def streaming_transducer(folder: Path, tokens: Sequence[str] = TOKENS) -> Path:
    """A streaming zipformer2 transducer, which never says a token twice in a row."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len(TOKENS)
    inputs, outputs, nodes = _states()
    heard, constants = _heard("encoder_out")
    save(
        folder / "encoder-epoch-99-avg-1.onnx",
        [*heard, *nodes],
        [value("x", FLOAT, 1, 45, 80), *inputs],
        [value("encoder_out", FLOAT, 1, 8, size), *outputs],
        constants=constants,
        metadata=_ZIPFORMER2,
    )
    penalty = 20 * np.eye(size, dtype=np.float32)
    penalty[0] = 0
    save(
        folder / "decoder-epoch-99-avg-1.onnx",
        [
            helper.make_node("Gather", ["y", "last"], ["token"], axis=1),
            helper.make_node("Gather", ["penalty", "token"], ["rows"], axis=0),
            helper.make_node("Squeeze", ["rows", "middle"], ["decoder_out"]),
        ],
        [value("y", INT64, "N", 2)],
        [value("decoder_out", FLOAT, "N", size)],
        constants=[
            constant("last", [1], np.int64),
            constant("penalty", penalty),
            constant("middle", [1], np.int64),
        ],
        metadata={"context_size": 2, "vocab_size": size},
    )
    save(
        folder / "joiner-epoch-99-avg-1.onnx",
        [helper.make_node("Sub", ["encoder_out", "decoder_out"], ["logit"])],
        [value("encoder_out", FLOAT, "N", size), value("decoder_out", FLOAT, "N", size)],
        [value("logit", FLOAT, "N", size)],
        metadata={"joiner_dim": size},
    )
    tokens_file(folder / "tokens.txt", tokens)
    return folder


SENSE_VOICE = (
    "<blank>", "<|zh|>", "<|en|>", "<|NEUTRAL|>", "<|Speech|>", "<|withitn|>", "<|woitn|>",
    "▁one", "▁two", "三", "四", "五", "3，",
)  # fmt: skip
_LANGUAGES = {"auto": 0, "zh": 3, "en": 4, "yue": 7, "ja": 11, "ko": 12}


def sense_voice(folder: Path) -> Path:
    """A SenseVoice: left to itself it takes all for Chinese."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len(SENSE_VOICE)
    tags = np.full((16, size), -100, np.float32)
    tags[:, 1] = 0
    tags[_LANGUAGES["en"]] = -100
    tags[_LANGUAGES["en"], 2] = 0
    norms = np.full((16, size), -100, np.float32)
    norms[14, 5] = norms[15, 6] = 0
    fixed = np.full((1, 2, size), -100, np.float32)
    fixed[0, 0, 3] = fixed[0, 1, 4] = 0
    weights = np.zeros((560, size), np.float32)
    weights[:, 7:12] = bands(80, 7)
    weights[:, 12] = weights[:, 9]
    usual = np.array([-9.5, *[-100] * 6, -24.0, -23.6, -22.8, -22.0, -21.2, -22.8], np.float32)
    written = np.zeros((16, size), np.float32)
    written[14, 9] = written[15, 12] = -100
    save(
        folder / "model.int8.onnx",
        [
            helper.make_node("Gather", ["tags", "language"], ["tag"], axis=0),
            helper.make_node("Gather", ["norms", "text_norm"], ["norm"], axis=0),
            helper.make_node("Unsqueeze", ["tag", "one"], ["tag3"]),
            helper.make_node("Unsqueeze", ["norm", "one"], ["norm3"]),
            helper.make_node("MatMul", ["x", "weights"], ["energy"]),
            helper.make_node("Add", ["energy", "usual"], ["plain"]),
            helper.make_node("Gather", ["written", "text_norm"], ["way"], axis=0),
            helper.make_node("Add", ["plain", "way"], ["heard"]),
            helper.make_node("Cast", ["x_length"], ["unused"], to=INT64),
            helper.make_node("Concat", ["tag3", "fixed", "norm3", "heard"], ["logits"], axis=1),
        ],
        [
            value("x", FLOAT, 1, "T", 560),
            value("x_length", INT32, 1),
            value("language", INT32, 1),
            value("text_norm", INT32, 1),
        ],
        [value("logits", FLOAT, 1, "S", size), value("unused", INT64, 1)],
        constants=[
            constant("tags", tags),
            constant("norms", norms),
            constant("fixed", fixed),
            constant("one", [1], np.int64),
            constant("weights", weights),
            constant("usual", usual),
            constant("written", written),
        ],
        metadata={
            "model_type": "sense_voice_ctc",
            "comment": "iic/SenseVoiceSmall",
            "vocab_size": size,
            "lfr_window_size": 7,
            "lfr_window_shift": 6,
            "normalize_samples": 0,
            "with_itn": 14,
            "without_itn": 15,
            **{f"lang_{name}": number for name, number in _LANGUAGES.items()},
            "neg_mean": ",".join(["0"] * 560),
            "inv_stddev": ",".join(["1"] * 560),
        },
    )
    tokens_file(folder / "tokens.txt", SENSE_VOICE)
    return folder


def _voice(
    tokens: str, *, speed: Sequence[onnx.NodeProto], output: str, shape: Sequence[int]
) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    """Nodes that hold a tone for each token of (1, L), each for `TOKEN_SAMPLES` / speed.

    `length_scale` (1) must be there; the tones of the speaker `sid` (1), if there is one, are
    higher by a fifth of its number.
    """
    nodes = [
        helper.make_node("Cast", [tokens], ["ids"], to=FLOAT),
        helper.make_node("Mul", ["ids", "step"], ["above"]),
        helper.make_node("Add", ["above", "lowest"], ["pitch"]),
        *speed,
        helper.make_node("Mul", ["pitch", "higher"], ["tone"]),
        helper.make_node("Mul", ["length_scale", "hold"], ["samples"]),
        helper.make_node("Cast", ["samples"], ["whole"], to=INT64),
        helper.make_node("Squeeze", ["whole", "axis0"], ["end"]),
        helper.make_node("Range", ["zero", "end", "unit"], ["counts"]),
        helper.make_node("Cast", ["counts"], ["time"], to=FLOAT),
        helper.make_node("Reshape", ["tone", "column"], ["tones"]),
        helper.make_node("Reshape", ["time", "row"], ["times"]),
        helper.make_node("Mul", ["tones", "times"], ["phase"]),
        helper.make_node("Sin", ["phase"], ["sine"]),
        helper.make_node("Mul", ["sine", "loudness"], ["wave"]),
        helper.make_node("Reshape", ["wave", "flat"], [output]),
    ]
    radians = 2 * np.pi / RATE_HZ
    constants = [
        constant("step", 40 * radians),
        constant("lowest", 200 * radians),
        constant("hold", float(TOKEN_SAMPLES)),
        constant("axis0", [0], np.int64),
        constant("zero", 0, np.int64),
        constant("unit", 1, np.int64),
        constant("column", [-1, 1], np.int64),
        constant("row", [1, -1], np.int64),
        constant("loudness", 0.3),
        constant("flat", shape, np.int64),
    ]
    return nodes, constants


def _one_speaker() -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    return [], [constant("higher", 1.0)]


def _speakers() -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    return [
        helper.make_node("Cast", ["sid"], ["number"], to=FLOAT),
        helper.make_node("Mul", ["number", "fifth"], ["more"]),
        helper.make_node("Add", ["more", "base"], ["higher"]),
    ], [constant("fifth", 0.2), constant("base", 1.0)]


PHONEMES = "_^$ !'(),-.:;?abcdefhijklmnopqrstuvwxyzæçðøħŋœɐɑɒɔɕəɚɛɜɡɪɫɬɯɹɾʁʂʃʊʌʒʔʲˈˌːˑθβʰ"


def piper(folder: Path) -> Path:
    """A voice of Piper's: phonemes in."""
    folder.mkdir(parents=True, exist_ok=True)
    speed, constants = _one_speaker()
    nodes, more = _voice("input", speed=speed, output="output", shape=[1, 1, 1, -1])
    save(
        folder / "en_US-tone-low.onnx",
        [
            helper.make_node("Slice", ["scales", "first", "second", "along"], ["length_scale"]),
            *nodes,
        ],
        [
            value("input", INT64, 1, "L"),
            value("input_lengths", INT64, 1),
            value("scales", FLOAT, 3),
        ],
        [value("output", FLOAT, 1, 1, 1, "N")],
        constants=[
            *constants,
            *more,
            constant("first", [1], np.int64),
            constant("second", [2], np.int64),
            constant("along", [0], np.int64),
        ],
        metadata={
            "model_type": "vits",
            "comment": "piper",
            "language": "English",
            "voice": "en-us",
            "has_espeak": 1,
            "n_speakers": 1,
            "sample_rate": RATE_HZ,
        },
    )
    tokens_file(folder / "tokens.txt", tuple(PHONEMES))
    return folder


_SYLLABLES = (
    "sil",
    "eos",
    "n",
    "i3",
    "h",
    "ao3",
    "j",
    "in1",
    "t",
    "ian1",
    "q",
    "i4",
    "e",
    "o",
    "#0",
    ",",
    ".",
)
_WORDS = {
    "你": "n i3", "好": "h ao3", "今": "j in1", "天": "t ian1", "气": "q i4", "很": "h e",
    "你好": "n i3 h ao3", "今天": "j in1 t ian1", "天气": "t ian1 q i4",
    "hello": "h e o", "tea": "t i3",
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "e o"),
}  # fmt: skip


def lexicon_file(path: Path) -> None:
    others = {chr(code): "n e" for code in range(0x4E00, 0xA000)}
    lines = (f"{word} {sounds}\n" for word, sounds in (others | _WORDS).items())
    path.write_text("".join(lines), encoding="utf-8")


def lexicon_vits(folder: Path, speakers: int = 3) -> Path:
    """A Chinese VITS with a lexicon and several speakers, as icefall exports it."""
    folder.mkdir(parents=True, exist_ok=True)
    speed, constants = _speakers()
    nodes, more = _voice("x", speed=speed, output="y", shape=[1, 1, -1])
    save(
        folder / "model.onnx",
        nodes,
        [
            value("x", INT64, 1, "L"),
            value("x_length", INT64, 1),
            value("noise_scale", FLOAT, 1),
            value("length_scale", FLOAT, 1),
            value("noise_scale_w", FLOAT, 1),
            value("sid", INT64, 1),
        ],
        [value("y", FLOAT, 1, 1, "N")],
        constants=[*constants, *more],
        metadata={
            "model_type": "vits",
            "comment": "aishell3",
            "language": "Chinese",
            "punctuation": "， 。 ！ ？ , . ! ?",
            "add_blank": 0,
            "n_speakers": speakers,
            "sample_rate": RATE_HZ,
        },
    )
    tokens_file(folder / "tokens.txt", _SYLLABLES)
    lexicon_file(folder / "lexicon.txt")
    return folder


def matcha(folder: Path) -> Path:
    """A Chinese Matcha with a lexicon, and a vocoder beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    save(
        folder / "model-steps-3.onnx",
        [
            helper.make_node("Cast", ["x"], ["ids"], to=FLOAT),
            helper.make_node("Reshape", ["ids", "row"], ["one"]),
            helper.make_node("Mul", ["length_scale", "four"], ["frames"]),
            helper.make_node("Cast", ["frames"], ["times"], to=INT64),
            helper.make_node("Concat", ["leading", "times"], ["shape"], axis=0),
            helper.make_node("Expand", ["one", "shape"], ["grid"]),
            helper.make_node("Reshape", ["grid", "flat"], ["mel"]),
        ],
        [
            value("x", INT64, 1, "L"),
            value("x_length", INT64, 1),
            value("noise_scale", FLOAT, 1),
            value("length_scale", FLOAT, 1),
        ],
        [value("mel", FLOAT, 1, 80, "T")],
        constants=[
            constant("row", [1, 1, -1, 1], np.int64),
            constant("four", 4.0),
            constant("leading", [1, 80, 1], np.int64),
            constant("flat", [1, 80, -1], np.int64),
        ],
        metadata={
            "model_type": "matcha-tts",
            "language": "Chinese",
            "voice": "zh",
            "has_espeak": 0,
            "jieba": 1,
            "n_speakers": 1,
            "pad_id": 0,
            "use_icefall": 1,
            "use_eos_bos": 0,
            "version": 1,
            "sample_rate": RATE_HZ,
        },
    )
    speed, constants = _one_speaker()
    nodes, more = _voice("bin", speed=speed, output="audio", shape=[1, -1])
    save(
        folder / "hifigan_v2.onnx",
        [helper.make_node("ReduceMean", ["mel"], ["bin"], axes=[1], keepdims=0), *nodes],
        [value("mel", FLOAT, 1, 80, "T")],
        [value("audio", FLOAT, 1, "N")],
        constants=[*constants, *more, constant("length_scale", [0.25])],
        metadata={"model_type": "hifigan", "sample_rate": RATE_HZ},
    )
    tokens_file(folder / "tokens.txt", _SYLLABLES)
    lexicon_file(folder / "lexicon.txt")
    return folder


def kokoro(folder: Path, names: Sequence[str] = ("af_tone", "zm_tone")) -> Path:
    """A Kokoro with a lexicon and two speakers."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes, more = _voice("tokens", speed=[], output="audio", shape=[-1])
    save(
        folder / "model.onnx",
        [
            helper.make_node("Slice", ["style", "first", "second", "along"], ["corner"]),
            helper.make_node("Squeeze", ["corner", "axis0"], ["higher"]),
            helper.make_node("Div", ["one", "speed"], ["length_scale"]),
            *nodes,
        ],
        [
            value("tokens", INT64, 1, "L"),
            value("style", FLOAT, 1, 256),
            value("speed", FLOAT, 1),
        ],
        [value("audio", FLOAT, "N")],
        constants=[
            *more,
            constant("one", [1.0]),
            constant("first", [0], np.int64),
            constant("second", [1], np.int64),
            constant("along", [1], np.int64),
        ],
        metadata={
            "model_type": "kokoro",
            "language": "English",
            "has_espeak": 1,
            "version": 2,
            "voice": "en-us",
            "sample_rate": RATE_HZ,
            "n_speakers": len(names),
            "speaker_names": ",".join(names),
            "style_dim": "510,1,256",
        },
    )
    styles = np.ones((len(names), 510, 256), "<f4")
    styles *= (1 + 0.2 * np.arange(len(names), dtype=np.float32))[:, None, None]
    (folder / "voices.bin").write_bytes(styles.tobytes())
    tokens_file(
        folder / "tokens.txt", ("$", ";", ":", ",", ".", "!", "?", " ", *"abdefhijknopqstu")
    )
    lexicon_file(folder / "lexicon-us-en.txt")
    return folder
