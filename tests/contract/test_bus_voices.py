"""Voices of tenants' own, on every bus."""

import pytest

from legato.audio import AudioFormat
from legato.bus.erasure import Receipt, erase_tenant
from legato.bus.voices import KIND, Consent, OwnVoice, OwnVoices, digest
from legato.errors import VoiceExists
from legato.speech.voices import VoicePrompt
from tests.contract.buses import Rig

PCM = bytes(range(256)) * 5_600
"""1.4 MB, as 30 s take."""

CONSENT = Consent(statement="The speaker agrees.", given=1_796_000_000.5)


def voice(name: str = "anna", pcm: bytes = PCM, *, created: float = 7.0) -> OwnVoice:
    return OwnVoice(
        name=name,
        sample_rate=24_000,
        seconds=len(pcm) / 48_000,
        digest=digest(pcm),
        created=created,
        consent=CONSENT,
        text="我说了这个。",
        languages=("zh", "en"),
        gender="female",
    )


async def test_a_voice_is_found_by_another_process_with_its_recording(rig: Rig) -> None:
    await OwnVoices(rig.bus).add("acme", voice(), PCM)
    others = OwnVoices(rig.peer)
    found = await others.find("acme", "anna")
    assert found == voice()
    assert await others.prompt("acme", found) == VoicePrompt(
        name="anna",
        pcm=PCM,
        format=AudioFormat(24_000),
        text="我说了这个。",
        digest=digest(PCM),
    )


async def test_voices_are_listed_in_their_order_and_each_tenant_has_its_own(rig: Rig) -> None:
    voices = OwnVoices(rig.bus)
    await voices.add("acme", voice("bob", created=2.0), PCM)
    await voices.add("acme", voice("小明", created=1.0), PCM)
    await voices.add("other", voice(), PCM)
    assert [one.name for one in await voices.list("acme")] == ["小明", "bob"]
    assert await voices.find("acme", "anna") is None
    assert await voices.list("nobody") == []


async def test_a_voice_outlives_any_time(rig: Rig) -> None:
    await OwnVoices(rig.bus).add("acme", voice(), PCM)
    await rig.advance(1_000_000 * rig.tick)
    found = await OwnVoices(rig.peer).find("acme", "anna")
    assert found is not None
    assert await OwnVoices(rig.peer).prompt("acme", found) is not None


@pytest.mark.parametrize("pcm", [PCM, PCM[:-2]])
async def test_a_name_is_taken_once_and_the_first_stays_whole(rig: Rig, pcm: bytes) -> None:
    voices = OwnVoices(rig.bus)
    await voices.add("acme", voice(), PCM)
    with pytest.raises(VoiceExists, match="'anna'"):
        await OwnVoices(rig.peer).add("acme", voice(pcm=pcm), pcm)
    assert await voices.find("acme", "anna") == voice()
    assert await voices.prompt("acme", voice()) is not None
    assert len(await rig.bus.blobs.list("acme")) == 1


async def test_a_voice_that_is_removed_leaves_nothing(rig: Rig) -> None:
    voices = OwnVoices(rig.bus)
    await voices.add("acme", voice(), PCM)
    assert await OwnVoices(rig.peer).remove("acme", "anna") is True
    assert await voices.find("acme", "anna") is None
    assert await voices.prompt("acme", voice()) is None
    assert await rig.bus.blobs.list("acme") == set()
    assert await rig.bus.registry.list("acme", KIND) == {}
    assert await voices.remove("acme", "anna") is False
    await voices.add("acme", voice(), PCM)


async def test_a_recording_that_is_not_the_voice_s_is_none(rig: Rig) -> None:
    voices = OwnVoices(rig.bus)
    await voices.add("acme", voice(), PCM)
    (name,) = await rig.bus.blobs.list("acme")
    await rig.bus.blobs.put("acme", name, PCM[:-2])
    assert await voices.prompt("acme", voice()) is None


async def test_a_record_that_cannot_be_read_hides_no_other(rig: Rig) -> None:
    voices = OwnVoices(rig.bus)
    await voices.add("acme", voice(), PCM)
    await rig.bus.registry.put("acme", KIND, "odd", b"{}")
    assert [one.name for one in await voices.list("acme")] == ["anna"]
    assert await voices.find("acme", "odd") is None


async def test_who_erases_a_tenant_erases_its_voices_and_counts_them(rig: Rig) -> None:
    for tenant in ("acme", "other"):
        await OwnVoices(rig.bus).add(tenant, voice(), PCM)
        await OwnVoices(rig.bus).add(tenant, voice("bob"), PCM)
    assert await erase_tenant(rig.peer, "acme") == Receipt(voices=2)
    assert await rig.bus.blobs.list("acme") == set()
    assert await erase_tenant(rig.peer, "acme") == Receipt()
    assert len(await OwnVoices(rig.bus).list("other")) == 2
