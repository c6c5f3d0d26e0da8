import pytest

from legato.engines.base import EngineInfo, EngineKind
from legato.engines.registry import Listing
from legato.errors import UnsupportedText
from legato.speech.scripts import Script
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.pool import EnginePool, PoolState
from legato.worker.routing import Router

COMMAND = 'pip install "legato-speech[espeak]" or make run CHINESE=1'


class FakePool(EnginePool):
    """A pool without engine processes, in the state that the test wants."""

    def __init__(
        self,
        name: str,
        *scripts: Script,
        state: PoolState = PoolState.READY,
        languages: tuple[str, ...] = (),
    ) -> None:
        info = EngineInfo(
            name=name,
            kind=EngineKind.SYNTHESIZE,
            version="1",
            format=None,
            scripts=frozenset(scripts),
            languages=languages,
        )
        missing = "not installed" if state is PoolState.UNAVAILABLE else None
        listing = Listing(
            name=name, kind=info.kind, info=info, missing=missing, add_command=COMMAND
        )
        spec = EngineSpec(kind=info.kind, name=name)
        super().__init__(spec, WorkerConfig(), listing, changed=lambda: None)
        if state is PoolState.READY:
            self._ready.set()


ENGLISH = FakePool("hibari", Script.LATIN)
CHINESE = FakePool("espeak", Script.LATIN, Script.HAN)
ANY = FakePool("tone")


LARK = FakePool("lark", Script.LATIN, languages=("en-US",))
GERMAN = FakePool("german", Script.LATIN, languages=("de-DE",))
COSYVOICE = FakePool("cosyvoice", Script.HAN, Script.LATIN, languages=("zh-CN", "en-US"))
SHERPA = FakePool("sherpa-onnx", Script.HAN, Script.LATIN, languages=("cmn",))
ESPEAK = FakePool("espeak", Script.HAN, Script.LATIN, languages=("zh-CN", "en-US", "de-DE"))
JAPANESE = FakePool("japanese", Script.HAN, Script.KANA, languages=("ja",))


def pieces(router: Router, text: str, engine: str = "hibari") -> list[tuple[str, str, bool]]:
    return [(p.pool.spec.name, p.text, p.chosen) for p in router.route(text, engine)]


def test_what_the_engine_reads_goes_to_it_in_one_piece() -> None:
    assert pieces(Router([ENGLISH, CHINESE]), "Hello, 5 times!") == [
        ("hibari", "Hello, 5 times!", True)
    ]


def test_an_engine_of_both_scripts_gets_mixed_text_whole() -> None:
    assert pieces(Router([ENGLISH, CHINESE]), "用5G上网", "espeak") == [
        ("espeak", "用5G上网", True)
    ]


def test_mixed_text_is_split_by_who_reads_it() -> None:
    parts = pieces(Router([ENGLISH, CHINESE]), "Say 你好 to me.")
    assert [name for name, _, _ in parts] == ["hibari", "espeak", "hibari"]
    assert "".join(text for _, text, _ in parts) == "Say 你好 to me."
    assert [chosen for _, _, chosen in parts] == [True, False, True]


def test_pieces_in_a_row_for_one_engine_are_one() -> None:
    both = FakePool("both", Script.HAN, Script.CYRILLIC)
    assert [name for name, _, _ in pieces(Router([ENGLISH, both]), "好да")] == ["both"]


def test_an_engine_for_any_script_reads_what_it_is_asked_for_and_nothing_else() -> None:
    assert pieces(Router([ANY]), "你好", "tone") == [("tone", "你好", True)]
    with pytest.raises(UnsupportedText):
        Router([ENGLISH, ANY]).route("你好", "hibari")


def test_a_refusal_names_the_characters_who_can_and_the_command() -> None:
    missing = FakePool("espeak", Script.HAN, state=PoolState.UNAVAILABLE)
    with pytest.raises(UnsupportedText) as caught:
        Router([ENGLISH, missing]).route("Say 你好。", "hibari")
    assert caught.value.characters == "你好"
    assert '"你好"' in caught.value.message
    assert f"espeak can, add it with: {COMMAND}" in caught.value.message


def test_without_a_command_the_reason_is_given() -> None:
    missing = FakePool("espeak", Script.HAN, state=PoolState.UNAVAILABLE)
    missing.add_command = None
    with pytest.raises(UnsupportedText, match="espeak can: not installed"):
        Router([ENGLISH, missing]).route("你好", "hibari")


def test_an_engine_that_is_loading_is_told() -> None:
    loading = FakePool("espeak", Script.HAN, state=PoolState.LOADING)
    loading.add_command = None
    with pytest.raises(UnsupportedText, match="still loading"):
        Router([ENGLISH, loading]).route("你好", "hibari")


def test_what_nobody_reads_is_refused_plainly() -> None:
    with pytest.raises(UnsupportedText, match="nor can any engine known here") as caught:
        Router([ENGLISH, CHINESE]).route("ສະບາຍດີ", "hibari")
    assert caught.value.characters


def test_japanese_is_not_taken_for_chinese() -> None:
    with pytest.raises(UnsupportedText) as caught:
        Router([ENGLISH, CHINESE]).route("日本です", "hibari")
    assert "で" in caught.value.characters


def test_an_engine_that_cannot_say_what_it_reads_gets_nothing() -> None:
    silent = FakePool("silent", Script.HAN)
    silent.info = None
    with pytest.raises(UnsupportedText):
        Router([ENGLISH, silent]).route("你好", "hibari")


def spoken(pools: list[EnginePool], text: str, language: str = "") -> list[tuple[str, str | None]]:
    """Who says it, and what language another than the chosen one is asked for."""
    engine = pools[0].spec.name
    return [(p.pool.spec.name, p.language) for p in Router(pools).route(text, engine, language)]


@pytest.mark.parametrize("language", ["", "zh"])
def test_chinese_goes_to_the_first_configured_that_speaks_it(language: str) -> None:
    assert spoken([LARK, COSYVOICE, SHERPA, ESPEAK], "你好", language) == [("cosyvoice", "zh")]
    assert spoken([LARK, SHERPA, ESPEAK], "你好") == [("sherpa-onnx", "zh")]
    assert spoken([LARK, ESPEAK], "你好") == [("espeak", "zh")]


def test_the_order_is_that_of_the_settings() -> None:
    assert spoken([LARK, ESPEAK, COSYVOICE], "你好") == [("espeak", "zh")]


def test_an_engine_that_is_not_ready_is_passed_over() -> None:
    absent = FakePool("cosyvoice", Script.HAN, state=PoolState.UNAVAILABLE, languages=("zh-CN",))
    assert spoken([LARK, absent, ESPEAK], "你好") == [("espeak", "zh")]


def test_a_language_in_a_script_that_the_engine_reads_goes_to_one_that_speaks_it() -> None:
    assert spoken([LARK, GERMAN], "Guten Morgen", "de") == [("german", "de")]
    assert spoken([LARK, COSYVOICE, ESPEAK], "Guten Morgen", "de-AT") == [("espeak", "de-AT")]


def test_a_language_that_nobody_speaks_is_read_with_an_accent() -> None:
    assert spoken([LARK, GERMAN], "Dobré ráno", "cs") == [("lark", None)]


def test_a_language_that_is_not_asked_for_leaves_the_text_to_the_engine_chosen() -> None:
    assert spoken([GERMAN, LARK], "Good morning") == [("german", None)]
    assert spoken([JAPANESE, COSYVOICE], "東京") == [("japanese", None)]


def test_a_language_holds_for_its_own_scripts_alone() -> None:
    assert spoken([COSYVOICE, JAPANESE], "OK", "ja") == [("cosyvoice", None)]
    assert spoken([COSYVOICE, JAPANESE], "OK, 東京", "ja") == [
        ("cosyvoice", None),
        ("japanese", "ja"),
    ]


def test_han_alone_is_chinese_before_it_is_japanese() -> None:
    assert spoken([LARK, JAPANESE, ESPEAK], "你好") == [("espeak", "zh")]
    assert spoken([LARK, JAPANESE], "你好") == [("japanese", "zh")]


def test_an_engine_for_any_language_speaks_each() -> None:
    any_language = FakePool("many", Script.LATIN, languages=("mul",))
    assert spoken([any_language, GERMAN], "Guten Morgen", "de") == [("many", None)]


def test_pieces_that_become_one_ask_for_a_language_only_if_both_do() -> None:
    both = FakePool("both", Script.HAN, Script.CYRILLIC)
    assert spoken([LARK, both], "好да") == [("both", None)]
