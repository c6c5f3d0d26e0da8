import pytest

from legato.engines.cosyvoice.directory import VERSIONS
from legato.engines.models.catalogue import KNOWN, resolve, wanted
from legato.engines.models.faults import BadModelName, HubBroken
from legato.engines.models.names import Hub, parse
from legato.engines.models.records import FileRecord


def files(*paths: str) -> list[FileRecord]:
    return [FileRecord(path=path, size_bytes=1) for path in paths]


COSYVOICE2 = (
    "cosyvoice2.yaml",
    "llm.pt",
    "flow.pt",
    "hift.pt",
    "campplus.onnx",
    "speech_tokenizer_v2.onnx",
    "CosyVoice-BlankEN/config.json",
)


def test_short_names_are_unique_and_nothing_is_called_tried() -> None:
    assert len({known.name for known in KNOWN}) == len(KNOWN)
    assert not any(known.verified for known in KNOWN)
    assert all(known.sources for known in KNOWN)


def test_each_version_of_cosyvoice_wants_the_file_that_tells_it() -> None:
    wants = {pattern for known in KNOWN for pattern in known.needed}
    assert {version.yaml for version in VERSIONS} <= wants


def test_a_short_name_means_its_first_hub_or_the_one_that_is_asked_for() -> None:
    assert str(resolve("cosyvoice2")[0]) == "modelscope:iic/CosyVoice2-0.5B"
    assert (
        str(resolve("cosyvoice2", Hub.HUGGINGFACE)[0]) == "huggingface:FunAudioLLM/CosyVoice2-0.5B"
    )
    with pytest.raises(BadModelName, match="whisper-tiny is not known to be on modelscope"):
        resolve("whisper-tiny", Hub.MODELSCOPE)


def test_a_full_name_of_a_known_model_is_known() -> None:
    name, known = resolve("modelscope:iic/CosyVoice2-0.5B@v1")
    assert name.revision == "v1"
    assert known is not None
    assert known.name == "cosyvoice2"
    assert resolve("modelscope:a/b") == (parse("modelscope:a/b"), None)


def test_a_mistyped_name_is_set_right() -> None:
    with pytest.raises(BadModelName, match=r"did you mean cosyvoice2\?"):
        resolve("cosyvoic2")
    with pytest.raises(BadModelName, match="list --known"):
        resolve("xyzzy")


def test_what_the_engine_does_not_need_is_left_out() -> None:
    _, known = resolve("cosyvoice2")
    listed = files(*COSYVOICE2, "README.md", "asset/dingding.png", "flow.encoder.fp16.zip")
    assert {one.path for one in wanted(listed, known)} == {*COSYVOICE2, "README.md"}
    assert len(wanted(listed, None)) == len(listed)


@pytest.mark.parametrize("lost", COSYVOICE2)
def test_a_model_that_lacks_a_needed_file_is_not_fetched(lost: str) -> None:
    _, known = resolve("cosyvoice2")
    with pytest.raises(HubBroken, match="which cosyvoice needs"):
        wanted(files(*(path for path in COSYVOICE2 if path != lost)), known)
