from dataclasses import replace

import pytest

from legato.audio import AudioFormat
from legato.bus.forgetting import owner_of
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.tone import ToneSynthesizer
from legato.speech import SynthesisRequest, VoicePrompt
from legato.speech.sound.treatment import Treatment
from legato.telemetry.metrics import REGISTRY
from legato.worker.cache import ENTRY_BYTES, MOST_BYTES, Recording, SpeechCache

MONO = AudioFormat(16_000)
INFO = EngineInfo(name="slow", kind=EngineKind.SYNTHESIZE, version="1", format=MONO)
REQUEST = SynthesisRequest(format=MONO, voice="anna", seed=3, options={"a": 1, "b": 2})
PCM = b"\1\0" * 1_000
PROMPT = VoicePrompt(name="own", pcm=b"\0\0", format=MONO, digest="ab")


def recording(
    cache: SpeechCache,
    text: str = "Hello.",
    *,
    tenant: str = "acme",
    info: EngineInfo = INFO,
    request: SynthesisRequest = REQUEST,
) -> Recording:
    found = cache.recording(tenant, info, request, text)
    assert found is not None
    return found


def keep(cache: SpeechCache, text: str = "Hello.", *, tenant: str = "acme") -> None:
    one = recording(cache, text, tenant=tenant)
    one.add(PCM[:500])
    one.add(PCM[500:])
    one.keep()


def test_what_was_said_is_found_again() -> None:
    cache = SpeechCache(1 << 20)
    assert recording(cache).found() is None
    keep(cache)
    assert recording(cache).found() == PCM
    assert len(cache) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Hello!"},
        {"tenant": "other"},
        {"info": replace(INFO, version="2")},
        {"info": replace(INFO, name="else")},
        {"request": replace(REQUEST, voice="bob")},
        {"request": replace(REQUEST, speed=1.1)},
        {"request": replace(REQUEST, seed=4)},
        {"request": replace(REQUEST, language="de")},
        {"request": replace(REQUEST, format=AudioFormat(16_000, 2))},
        {"request": replace(REQUEST, options={"a": 1, "b": 3})},
        {"request": replace(REQUEST, treatment=Treatment())},
        {"request": replace(REQUEST, prompt=PROMPT)},
    ],
)
def test_anything_that_may_change_a_sample_makes_it_another_prompt(other: dict[str, str]) -> None:
    cache = SpeechCache(1 << 20)
    keep(cache)
    assert recording(cache, **other).found() is None  # type: ignore[arg-type]  # some are no text


def test_the_order_of_options_makes_no_difference() -> None:
    cache = SpeechCache(1 << 20)
    keep(cache)
    turned = replace(REQUEST, options={"b": 2, "a": 1})
    assert recording(cache, request=turned).found() == PCM


def test_a_recording_of_a_voice_counts_by_its_digest() -> None:
    cache = SpeechCache(1 << 20)
    one = recording(cache, request=replace(REQUEST, prompt=PROMPT))
    one.add(PCM)
    one.keep()
    again = replace(PROMPT, pcm=b"", name="renamed")
    assert recording(cache, request=replace(REQUEST, prompt=again)).found() == PCM
    nameless = replace(REQUEST, prompt=replace(PROMPT, digest=""))
    assert cache.recording("acme", INFO, nameless, "Hello.") is None


def test_nothing_is_kept_of_whom_or_what_is_not_to_be() -> None:
    assert SpeechCache(0).recording("acme", INFO, REQUEST, "Hello.") is None
    assert not SpeechCache(0).is_on
    cache = SpeechCache(1 << 20, barred=("acme",))
    assert cache.recording("acme", INFO, REQUEST, "Hello.") is None
    assert cache.recording("other", INFO, REQUEST, "Hello.") is not None
    assert cache.recording("other", None, REQUEST, "Hello.") is None
    assert cache.recording("other", ToneSynthesizer.info, REQUEST, "Hello.") is None


def test_the_bound_holds_and_the_least_recently_used_goes_first() -> None:
    size = len(PCM) + ENTRY_BYTES
    cache = SpeechCache(4 * size)
    for text in "abcd":
        keep(cache, text)
    assert cache.used_bytes == 4 * size
    assert recording(cache, "a").found() == PCM
    keep(cache, "e")
    assert cache.used_bytes == 4 * size
    assert recording(cache, "b").found() is None
    assert recording(cache, "a").found() == PCM


def test_the_same_prompt_twice_is_counted_once() -> None:
    cache = SpeechCache(1 << 20)
    keep(cache)
    keep(cache)
    assert cache.used_bytes == len(PCM) + ENTRY_BYTES


def test_a_piece_that_is_too_long_is_not_kept() -> None:
    for cache, most in ((SpeechCache(1 << 30), MOST_BYTES), (SpeechCache(8_000), 2_000)):
        for length, kept in ((most, True), (most + 2, False)):
            one = recording(cache, str(length))
            one.add(bytes(length - 2))
            one.add(bytes(2))
            one.add(b"")
            one.keep()
            assert (recording(cache, str(length)).found() is not None) is kept


def test_no_sound_is_not_kept() -> None:
    cache = SpeechCache(1 << 20)
    recording(cache).keep()
    assert len(cache) == 0


def test_a_tenant_is_forgotten_and_no_other() -> None:
    cache = SpeechCache(1 << 20)
    keep(cache, "a")
    keep(cache, "b")
    keep(cache, "a", tenant="other")
    cache.forget(owner_of("acme"))
    assert recording(cache, "a").found() is None
    assert recording(cache, "a", tenant="other").found() == PCM
    assert cache.used_bytes == len(PCM) + ENTRY_BYTES
    cache.clear()
    assert (len(cache), cache.used_bytes) == (0, 0)


@pytest.mark.parametrize("how", ["forget", "clear"])
def test_what_was_begun_before_something_was_forgotten_is_not_kept(how: str) -> None:
    cache = SpeechCache(1 << 20)
    one = recording(cache)
    one.add(PCM)
    if how == "clear":
        cache.clear()
    else:
        cache.forget(owner_of("acme"))
    one.keep()
    assert len(cache) == 0


def counted() -> list[float]:
    names = [("_total", {"outcome": "hit"}), ("_total", {"outcome": "miss"}), ("_bytes", {})]
    return [REGISTRY.get_sample_value(f"legato_cached_speech{n}", of) or 0 for n, of in names]


def test_hits_misses_and_bytes_are_counted() -> None:
    before = counted()
    cache = SpeechCache(1 << 20)
    recording(cache).found()
    keep(cache)
    recording(cache).found()
    recording(cache).found()
    changes = [b - a for a, b in zip(before, counted(), strict=True)]
    assert changes == [2, 1, len(PCM) + ENTRY_BYTES]
    cache.clear()
    assert counted()[2] == before[2]
