"""Each fault of CosyVoice is there in the stand-in: what is mended is really broken."""

import inspect
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.standins.cosyvoice.cli import cosyvoice as standin
from tests.standins.cosyvoice.cli import model as shared
from tests.standins.cosyvoice.sound import Tensor, heard, tokens
from tests.unit.engines.cosyvoice.stage import TRANSCRIPT, YAML, model_dir, prompt_wav

TEXT = "one two three four five six seven eight nine ten "
OTHER = "eins zwei drei vier fünf sechs sieben acht neun zehn "


def model(folder: Path, number: int, **flags: bool) -> standin.CosyVoice:
    made = standin.AutoModel(model_dir=model_dir(folder, number), **flags)
    made.add_zero_shot_spk(_prompt(number), prompt_wav(folder), "anna")
    return made


def _prompt(number: int) -> str:
    return TRANSCRIPT if number < 3 else f"{shared.END_OF_PROMPT}{TRANSCRIPT}"


def say(made: standin.CosyVoice, text: str, *, stream: bool = True) -> Iterator[standin.Output]:
    return made.inference_zero_shot(text, "", "", zero_shot_spk_id="anna", stream=stream)


def lengths(chunks: Iterator[standin.Output]) -> list[int]:
    return [round(chunk["tts_speech"].shape[1] / 960) for chunk in chunks]


@pytest.fixture
def two(tmp_path: Path) -> standin.CosyVoice:
    return model(tmp_path, 2)


@pytest.mark.parametrize("number", YAML)
def test_a_folder_makes_the_class_of_its_version(tmp_path: Path, number: int) -> None:
    made = model(tmp_path, number)
    assert type(made).__name__ == f"CosyVoice{number if number > 1 else ''}"
    assert made.sample_rate == (22_050 if number == 1 else 24_000)


def test_a_folder_that_is_not_there_is_downloaded(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        standin.AutoModel(model_dir=str(tmp_path / "nothing"))


def test_version_3_has_no_load_jit() -> None:
    assert "load_jit" in inspect.signature(standin.CosyVoice2).parameters
    assert "load_jit" not in inspect.signature(standin.CosyVoice3).parameters


def test_lost_doubled_and_foreign_tokens_can_be_told(two: standin.CosyVoice) -> None:
    (chunk,) = say(two, TEXT, stream=False)
    assert isinstance(chunk["tts_speech"], Tensor)
    wave = 2 * chunk["tts_speech"].numpy()[0]
    assert heard(wave, 24_000) == tokens(TEXT)
    assert heard(wave, 24_000) != tokens(OTHER)
    assert heard(np.concatenate((wave[:960], wave)), 24_000) != tokens(TEXT)
    assert heard(wave[960:], 24_000) != tokens(TEXT)


def test_the_chunk_length_is_never_set_back(two: standin.CosyVoice) -> None:
    assert lengths(say(two, TEXT))[:2] == [25, 50]
    assert lengths(say(two, TEXT))[0] == 100


def test_the_chunk_length_is_shared_by_requests(two: standin.CosyVoice) -> None:
    one = say(two, TEXT)
    next(one)
    assert lengths(say(two, TEXT))[0] == 50


def test_an_abandoned_request_leaves_its_state(two: standin.CosyVoice) -> None:
    chunks = say(two, TEXT)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(two.model.tts_speech_token_dict) == 1
    assert len(two.model.hift_cache_dict) == 1


def test_the_thread_of_an_abandoned_request_goes_on(two: standin.CosyVoice) -> None:
    two.model.token_pause = 0.001
    chunks = say(two, TEXT * 4)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]  # it is a generator
    before = two.model.generated
    _until(lambda: two.model.generated > before + 50)


def test_tokens_are_looked_for_every_tenth_of_a_second(two: standin.CosyVoice) -> None:
    two.model.token_pause = 0.0
    start = time.monotonic()
    next(say(two, TEXT))
    assert time.monotonic() - start >= 0.1  # at least, however fast the machine


def test_a_dead_thread_hangs_whoever_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 3 without an end of the prompt; with `stream=False` it ends with what there is."""
    monkeypatch.setattr(threading, "excepthook", lambda _args: None)
    three = model(tmp_path, 3)
    three.frontend.spk2info["anna"]["prompt"] = TRANSCRIPT
    assert lengths(say(three, TEXT, stream=False)) == [0]
    hung = threading.Thread(target=lambda: next(say(three, TEXT)), daemon=True)
    hung.start()
    hung.join(0.5)
    assert hung.is_alive()
    for key in three.model.llm_end_dict:
        three.model.llm_end_dict[key] = True  # let the thread go
    hung.join(5)
    assert not hung.is_alive()


def test_no_other_speed_while_streaming(two: standin.CosyVoice) -> None:
    with pytest.raises(AssertionError, match="non-stream"):
        list(two.inference_zero_shot(TEXT, "", "", zero_shot_spk_id="anna", stream=True, speed=2))
    (half,) = two.inference_zero_shot(TEXT, "", "", zero_shot_spk_id="anna", speed=2)
    assert abs(lengths(iter([half]))[0] - len(tokens(TEXT)) / 2) < 1


def test_versions_2_and_3_have_no_speakers(tmp_path: Path) -> None:
    assert standin.AutoModel(model_dir=model_dir(tmp_path, 2)).list_available_spks() == []
    with pytest.raises(KeyError, match="中文女"):
        list(model(tmp_path, 2).inference_sft(TEXT, "中文女"))
    assert list(model(tmp_path, 1).inference_sft(TEXT, "中文女"))


def test_samples_go_beyond_one(two: standin.CosyVoice) -> None:
    assert max(float(chunk["tts_speech"].numpy().max()) for chunk in say(two, TEXT)) > 1


def test_the_end_of_a_streamed_clip_is_noise(two: standin.CosyVoice) -> None:
    last = list(say(two, TEXT))[-1]["tts_speech"].numpy()[0]
    assert heard(last, 24_000)[:-1] == tokens(TEXT)[-len(heard(last, 24_000)) : -1]
    assert heard(last, 24_000)[-1] != tokens(TEXT)[-1]


def test_later_chunks_are_louder_and_begin_with_a_step(two: standin.CosyVoice) -> None:
    first, later, *_ = (chunk["tts_speech"].numpy()[0] for chunk in say(two, TEXT))
    assert later.std() > 1.8 * first.std()
    assert abs(later[0] - first[-1]) > 0.05


def test_two_requests_at_once_spoil_each_other(
    two: standin.CosyVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.model.token_pause, two.model.step_pause = 0.0, 1.0
    both_inside = threading.Barrier(2, timeout=10)
    monkeypatch.setattr(shared, "compute", lambda _seconds: both_inside.wait())
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda text: next(say(two, text)), (TEXT, OTHER)))
    owners = [
        {token.owner for token in heard(chunk["tts_speech"].numpy()[0], 24_000)} for chunk in found
    ]
    assert owners[0] == owners[1]
    assert owners[0] in ({tokens(TEXT)[0].owner}, {tokens(OTHER)[0].owner})


def test_text_may_be_a_generator_but_not_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _args: None)
    streamed = model(tmp_path, 2).inference_zero_shot(
        (text for text in (TEXT, OTHER)), "", "", zero_shot_spk_id="anna", stream=True
    )
    assert sum(lengths(streamed)) == len(tokens(TEXT)) + len(tokens(OTHER))
    with pytest.raises(AssertionError, match="vllm"):
        list(say_generator(model(tmp_path, 2, load_vllm=True)))
    assert lengths(say_generator(model(tmp_path, 1))) == [0]


def say_generator(made: standin.CosyVoice) -> Iterator[standin.Output]:
    text = (text for text in (TEXT,))
    return made.inference_zero_shot(text, "", "", zero_shot_spk_id="anna")


def test_a_prompt_must_be_a_path_and_is_read_three_times(
    tmp_path: Path, two: standin.CosyVoice
) -> None:
    with pytest.raises(TypeError, match="Invalid file"):
        list(two.inference_zero_shot(TEXT, TRANSCRIPT, np.zeros(9)))  # type: ignore[arg-type]  # so
    before = len(two.prompts_read)
    list(two.inference_zero_shot("hi", TRANSCRIPT, prompt_wav(tmp_path)))
    assert len(two.prompts_read) == before + 3
    with pytest.raises(AssertionError, match="too low"):
        two.add_zero_shot_spk(TRANSCRIPT, prompt_wav(tmp_path, rate_hz=8_000), "low")
    with pytest.raises(AssertionError, match="30 s"):
        two.add_zero_shot_spk(TRANSCRIPT, prompt_wav(tmp_path, seconds=31), "long")


def test_flags_are_dropped_in_silence_without_cuda(tmp_path: Path) -> None:
    assert model(tmp_path, 2, load_trt=True).flags["load_trt"] is False


def test_a_kept_voice_serves_once_in_another_mode(two: standin.CosyVoice) -> None:
    list(two.inference_cross_lingual(TEXT, "", zero_shot_spk_id="anna"))
    with pytest.raises(KeyError):
        list(two.inference_cross_lingual(TEXT, "", zero_shot_spk_id="anna"))


def test_a_kept_voice_does_not_heed_an_instruction(two: standin.CosyVoice) -> None:
    assert isinstance(two, standin.CosyVoice2)
    list(two.inference_instruct2(TEXT, "whisper", "", zero_shot_spk_id="anna"))
    assert two.asked[-1]["prompt"] == TRANSCRIPT


def test_what_is_said_is_logged(two: standin.CosyVoice, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        list(say(two, "a secret"))
    assert "a secret" in caplog.text


def _until(condition: object, timeout: float = 5.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
