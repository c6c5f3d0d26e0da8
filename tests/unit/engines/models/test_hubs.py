from typing import Any

import pytest

from legato.engines.models.config import ModelsConfig
from legato.engines.models.faults import HubBroken
from legato.engines.models.hubs import HuggingFace, ModelScope, hub_of
from legato.engines.models.names import Hub, parse
from legato.engines.models.transport import Transport


class FakeTransport(Transport):
    """Answers every question with the same thing."""

    def __init__(self, answer: Any) -> None:
        super().__init__(1.0)
        self.answer = answer
        self.asked = ""

    def read_json(self, url: str, headers: Any) -> Any:
        self.asked = url
        return self.answer


def huggingface(*siblings: dict[str, Any]) -> FakeTransport:
    return FakeTransport({"sha": "c0ffee", "siblings": list(siblings)})


def modelscope(*files: dict[str, Any]) -> FakeTransport:
    return FakeTransport({"Code": 200, "Data": {"Files": list(files)}})


def test_a_large_file_of_hugging_face_has_the_checksum_of_its_content_not_of_its_pointer() -> None:
    transport = huggingface(
        {"rfilename": "b.bin", "size": 134, "blobId": "p", "lfs": {"sha256": "s", "size": 9}},
        {"rfilename": "a.txt", "size": 3, "blobId": "g"},
    )
    listed = HuggingFace("https://hf", {}).listing(parse("huggingface:o/n@v/1"), transport)

    assert transport.asked == "https://hf/api/models/o/n/revision/v%2F1?blobs=true"
    assert [(f.path, f.size_bytes, f.sha256, f.blob_sha1) for f in listed.files] == [
        ("a.txt", 3, "", "g"),
        ("b.bin", 9, "s", ""),
    ]
    assert listed.revision == "c0ffee"


def test_folders_of_modelscope_are_no_files() -> None:
    transport = modelscope(
        {"Type": "tree", "Path": "d", "Size": 0},
        {"Type": "blob", "Path": "d/a", "Size": 3, "Sha256": "s"},
    )
    listed = ModelScope("https://ms", {}).listing(parse("modelscope:o/n"), transport)

    assert transport.asked.startswith("https://ms/api/v1/models/o/n/repo/files?Revision=master")
    assert [(f.path, f.size_bytes, f.sha256) for f in listed.files] == [("d/a", 3, "s")]


def test_addresses_are_quoted() -> None:
    model = parse("huggingface:o/n")
    assert HuggingFace("https://hf", {}).address(model, "v 1", "d/a #.txt") == (
        "https://hf/o/n/resolve/v%201/d/a%20%23.txt"
    )
    assert ModelScope("https://ms", {}).address(model, "v&1", "d/a&b") == (
        "https://ms/api/v1/models/o/n/repo?Revision=v%261&FilePath=d%2Fa%26b"
    )


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"sha": "c", "siblings": [{}]}, {"sha": "c", "siblings": [{"rfilename": "a"}]},
     {"sha": "c", "siblings": [{"rfilename": "a", "size": "much"}]}, {"sha": "c", "siblings": []},
     {"sha": "c", "siblings": [{"rfilename": "a", "size": -1}]},
     {"sha": "c", "siblings": [{"rfilename": "a", "size": 1}] * 2}],
)  # fmt: skip
def test_a_listing_that_makes_no_sense_is_refused(answer: Any) -> None:
    with pytest.raises(HubBroken):
        HuggingFace("https://hf", {}).listing(parse("huggingface:o/n"), FakeTransport(answer))


@pytest.mark.parametrize("answer", [None, {"Data": None}, {"Data": {"Files": [{"Type": "blob"}]}}])
def test_so_is_one_of_modelscope(answer: Any) -> None:
    with pytest.raises(HubBroken):
        ModelScope("https://ms", {}).listing(parse("modelscope:o/n"), FakeTransport(answer))


def test_a_mirror_and_a_token_are_taken_from_the_settings() -> None:
    config = ModelsConfig(huggingface="https://mirror/", huggingface_key="k", modelscope_key="m")
    assert hub_of(Hub.HUGGINGFACE, config) == HuggingFace(
        "https://mirror", {"Authorization": "Bearer k"}
    )
    assert hub_of(Hub.MODELSCOPE, config).headers == {"Cookie": "m_session_id=m"}
    assert hub_of(Hub.MODELSCOPE, ModelsConfig()).headers == {}


@pytest.mark.parametrize("address", ["mirror", "ftp://mirror", "file:///etc", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(HubBroken, match=r"models\.huggingface must be an address"):
        hub_of(Hub.HUGGINGFACE, ModelsConfig(huggingface=address))


def test_what_modelscope_says_in_place_of_a_listing_is_told() -> None:
    answer = FakeTransport({"Code": 10010205001, "Success": False, "Message": "no such revision"})
    with pytest.raises(HubBroken, match="is no listing of a model: no such revision"):
        ModelScope("https://ms", {}).listing(parse("modelscope:o/n"), answer)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"size": float("inf")}, "no listing"),
        ({"size": 1 << 60}, "cannot be right"),
        ({"lfs": {"size": 1, "sha256": "\u00e9"}}, "a checksum that is none"),
        ({"rfilename": ".legato-model.json"}, "the name of our own record"),
        ({"rfilename": ".legato-model.json/x"}, "the name of our own record"),
        ({"rfilename": "b/c"}, "'b' as a file and as a folder"),
    ],
)
def test_a_file_that_cannot_be_fetched_or_kept_is_refused(told: dict[str, Any], why: str) -> None:
    transport = huggingface({"rfilename": "b", "size": 1}, {"rfilename": "a", "size": 1} | told)
    with pytest.raises(HubBroken, match=why):
        HuggingFace("https://hf", {}).listing(parse("huggingface:o/n"), transport)


@pytest.mark.parametrize("commit", ["", "\ud800", "a\x1b[2J", "c" * 300])
def test_a_revision_that_cannot_be_one_is_refused(commit: str) -> None:
    transport = huggingface({"rfilename": "a", "size": 1})
    transport.answer["sha"] = commit
    with pytest.raises(HubBroken, match="revision"):
        HuggingFace("https://hf", {}).listing(parse("huggingface:o/n"), transport)


def test_what_a_hub_says_cannot_steer_a_terminal() -> None:
    transport = huggingface({"rfilename": "a", "size": 1})
    transport.answer["cardData"] = {"license": "\x1b[2Jmit\ud800"}
    listed = HuggingFace("https://hf", {}).listing(parse("huggingface:o/n"), transport)
    assert listed.licence == "[2Jmit"
    with pytest.raises(HubBroken, match=r"a model: \[2Jgone$"):
        ModelScope("https://ms", {}).listing(
            parse("modelscope:o/n"), FakeTransport({"Message": "\x1b[2Jgone"})
        )


def test_a_card_that_is_none_makes_no_listing() -> None:
    transport = huggingface({"rfilename": "a", "size": 1})
    transport.answer["cardData"] = "mit"
    with pytest.raises(HubBroken, match="no listing"):
        HuggingFace("https://hf", {}).listing(parse("huggingface:o/n"), transport)
