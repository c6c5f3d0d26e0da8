import pytest

from legato.engines.models.faults import BadModelName
from legato.engines.models.names import MAX_PATH_CHARS, Hub, ModelName, is_safe, parse


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("modelscope:iic/Cosy-1.5_b", ModelName(Hub.MODELSCOPE, "iic", "Cosy-1.5_b")),
        ("huggingface:a/b@v1.0", ModelName(Hub.HUGGINGFACE, "a", "b", "v1.0")),
        ("huggingface:a/b@refs/pr/1", ModelName(Hub.HUGGINGFACE, "a", "b", "refs/pr/1")),
    ],
)
def test_a_name_says_where_a_model_is(text: str, name: ModelName) -> None:
    assert parse(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a/b",
        "hub:a/b/c",
        "huggingface:a",
        "huggingface:../b",
        "huggingface:a/..",
        "modelscope:a/b@",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(BadModelName, match="hub:owner/name"):
        parse(text)


def test_an_unknown_hub_is_told_with_those_that_are_known() -> None:
    with pytest.raises(BadModelName, match="github is no hub; there are modelscope, huggingface"):
        parse("github:a/b")


def test_without_a_revision_the_hub_s_own_is_asked_for() -> None:
    assert parse("huggingface:a/b").asked == "main"
    assert parse("modelscope:a/b").asked == "master"
    assert parse("modelscope:a/b@v2").asked == "v2"
    assert parse("modelscope:a/b@v2").plain == "modelscope:a/b"


@pytest.mark.parametrize("path", ["a", "a/b.c", ".gitattributes", "声/音.bin"])
def test_a_path_inside_is_safe(path: str) -> None:
    assert is_safe(path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "../a",
        "a/../b",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "C:a",
        "a\0b",
        "a\nb",
        "a*",
        "x" * (MAX_PATH_CHARS + 1),
    ],
)
def test_a_path_that_could_lead_elsewhere_is_not(path: str) -> None:
    assert not is_safe(path)
