"""What goes over the wire in other codecs than PCM, between real processes."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import legato
from legato.audio import AudioFormat
from legato.codecs.files import decode
from legato.codecs.g711 import law
from tests.cutter import Cut
from tests.integration.processes import Server, run_legato
from tests.integration.test_resume import spoken, through_a_cutter

pytestmark = pytest.mark.integration

TEXT = "One two three. Four five six, seven."
RATES = [8_000, 12_000, 16_000, 24_000, 48_000]


def samples(pcm: bytes) -> NDArray[np.float64]:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def likeness(pcm: bytes, other: bytes) -> float:
    one, two = samples(pcm), samples(other)
    return float(one @ two / np.sqrt((one @ one) * (two @ two)))


async def said(client: legato.Client, codec: str, rate_hz: int = 16_000) -> bytes:
    pcm = bytearray()
    speech = client.speak(TEXT, codec=codec, sample_rate=rate_hz, pace=1_000)
    async for chunk in speech:
        assert chunk.sample == len(pcm) // 2
        pcm += chunk.pcm
    assert speech.intact
    return bytes(pcm)


@pytest.mark.parametrize("rate_hz", RATES)
async def test_every_codec_says_the_same_at_every_rate(tone_server: Server, rate_hz: int) -> None:
    async with legato.connect(tone_server.url) as client:
        plain = await said(client, "pcm_s16le", rate_hz)
        for codec in ("mulaw", "alaw", "opus"):
            pcm = await said(client, codec, rate_hz)
            assert len(pcm) == len(plain)
            assert likeness(pcm, plain) > (0.6 if codec == "opus" else 0.999)


async def test_opus_is_the_same_to_the_byte_when_it_is_cut(tone_server: Server) -> None:
    text = " ".join(f"Sentence number {number} is not very long." for number in range(6))
    async with through_a_cutter(tone_server) as (cutter, client):
        undisturbed = await spoken(client.speak(text, codec="opus", pace=20))
        speech = client.speak(text, codec="opus", pace=20)
        cuts = {20: Cut.RESET, 60: Cut.CLOSE, 150: Cut.RESET}

        disturbed = await spoken(
            speech, lambda number: cutter.cut(cuts[number]) if number in cuts else None
        )

        assert disturbed == undisturbed
        assert 0 < speech.resumes <= cutter.cuts


async def test_after_a_cancel_the_next_thing_is_said_whole(tone_server: Server) -> None:
    async with legato.connect(tone_server.url) as client:
        plain = await said(client, "pcm_s16le")
        async with client.voice(codec="opus", sample_rate=16_000, pace=1_000) as voice:
            long = voice.say("Nobody hears the end of this. " * 20)
            first = await anext(long)
            voice.cancel(long)
            pcm = b"".join([chunk.pcm async for chunk in voice.say(TEXT)])
    assert first.samples
    assert long.reason == "cancelled"
    assert len(pcm) == len(plain)
    assert likeness(pcm, plain) > 0.6


@pytest.mark.parametrize("codec", ["mulaw", "alaw", "opus"])
async def test_what_is_heard_is_decoded_for_the_engine(tone_server: Server, codec: str) -> None:
    rng = np.random.default_rng(3)
    pcm = rng.integers(-9_000, 9_000, 40_000).astype("<i2").tobytes()
    async with legato.connect(tone_server.url) as client:
        finals = [heard async for heard in client.listen(pcm, codec=codec) if heard.final]
        echoed = b"".join([chunk.pcm async for chunk in client.echo(pcm, codec=codec, pace=1_000)])
    assert finals[-1].end == 40_000
    assert len(echoed) == len(pcm)
    if codec != "opus":
        assert likeness(echoed, pcm) > 0.99


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"codec": "opus", "sample_rate": 22_050}, "22050 Hz; use one of 8000, 12000"),
        ({"codec": "speex"}, "use one of pcm_s16le, mulaw, alaw, opus"),
    ],
)
async def test_what_is_not_served_is_said_with_what_is(
    tone_server: Server, options: dict[str, object], reason: str
) -> None:
    async with legato.connect(tone_server.url) as client:
        with pytest.raises(legato.LegatoError, match=reason) as caught:
            await anext(client.speak("Hello", **options))  # type: ignore[arg-type]  # of the test
    assert caught.value.code == "unsupported_format"


# files


def test_say_writes_what_the_files_name_means(tone_server: Server, place: Path) -> None:
    files = ["x.mp3", "x.opus", "x.raw"]
    for name in files:
        run_legato(
            "say", TEXT, "-o", name, "--rate", "16000", "--codec", "opus", "--url",
            tone_server.url, cwd=place,
        )  # fmt: skip
    plain = (place / "x.raw").read_bytes()
    for name in files[:2]:
        with decode(str(place / name), AudioFormat(16_000)) as decoding:
            pcm = b"".join(chunk.pcm for chunk in decoding)
        assert abs(len(pcm) - len(plain)) <= 64, name
        size = min(len(pcm), len(plain))
        assert likeness(pcm[:size], plain[:size]) > 0.6, name


def test_say_writes_what_telephones_take(tone_server: Server, place: Path) -> None:
    done = run_legato("say", TEXT, "-o", "x.ul", "--json", "--url", tone_server.url, cwd=place)
    assert json.loads(done.stdout)["sample_rate"] == 8_000
    run_legato("say", TEXT, "-o", "x.raw", "--rate", "8000", "--url", tone_server.url, cwd=place)
    coded = law(legato.audio.Codec.MULAW).encode((place / "x.raw").read_bytes())
    assert (place / "x.ul").read_bytes() == coded
    done = run_legato(
        "say", TEXT, "-o", "-", "--format", "wav-mulaw", "--url", tone_server.url, cwd=place
    )
    assert done.stdout[58:] == coded


def test_say_refuses_what_it_cannot_write(tone_server: Server, place: Path) -> None:
    for given, told in (
        (("-o", "x.aac"), "bad_usage: x.aac: no file ends in .aac; there are .wav"),
        (("-o", "x", "--format", "aac"), "bad_usage: no file of format 'aac' is written"),
        (("-o", "x.opus", "--rate", "22050"), "unsupported_format: opus has no sample rate"),
    ):
        done = run_legato("say", "a", *given, "--url", tone_server.url, cwd=place)
        assert done.returncode in {2, 3}
        assert told in done.stderr.decode()
    assert list(place.iterdir()) == []
