"""The command line as its users meet it: real processes, files, pipes and signals."""

import hashlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
import wave
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from legato.audio import AudioFormat
from legato.cli.exits import Exit
from legato.cli.extras import MODULES
from legato.codecs.wav import wav_bytes
from legato.engines.installation import add_command
from tests.integration.processes import TONES, Process, Server, environment, run_legato

pytestmark = pytest.mark.integration

CHARACTER = 1_200
"""Samples at 24 kHz that `tone` gives a character: 50 ms."""

LONG = "This is a sentence that goes on and on, and says nothing. " * 200


def pcm_of(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        return bytes(file.readframes(file.getnframes()))


def told(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a command said of its failure, which is one line."""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


# say


def test_say_writes_a_whole_wav_and_reports_it(tone_server: Server, place: Path) -> None:
    done = run_legato(
        "say", "One.", "-o", "x.wav", "--json", "--rate", "16000", "--url", tone_server.url,
        cwd=place,
    )  # fmt: skip

    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {
        "first_audio_s",
        "audio_s",
        "wall_s",
        "samples",
        "sample_rate",
        "sha256",
        "stalls",
    } <= set(report)
    assert (report["samples"], report["sample_rate"]) == (4 * 800, 16_000)
    assert report["audio_s"] == pytest.approx(0.2)
    assert 0 < report["first_audio_s"] <= report["wall_s"]
    assert hashlib.sha256(pcm_of(place / "x.wav")).hexdigest() == report["sha256"]


def test_say_takes_and_gives_pipes(tone_server: Server, place: Path) -> None:
    done = run_legato("say", "-", "--url", tone_server.url, cwd=place, stdin=b"Well, well.\n")

    assert done.returncode == 0
    assert done.stdout[:4] == b"RIFF"
    assert len(done.stdout) > 44 + 10 * CHARACTER * 2
    assert list(place.iterdir()) == []


def test_what_goes_through_a_pipe_is_what_goes_into_a_file(
    tone_server: Server, place: Path
) -> None:
    run_legato("say", "One. Two.", "-o", "x.wav", "--url", tone_server.url, cwd=place)
    piped = run_legato("say", "One. Two.", "-o", "-", "--url", tone_server.url, cwd=place)
    whole = run_legato(
        "say", "One. Two.", "--no-stream", "-o", "-", "--url", tone_server.url, cwd=place
    )

    assert piped.stdout[44:] == whole.stdout[44:] == pcm_of(place / "x.wav")


def test_a_reader_who_leaves_ends_say_without_noise(tone_server: Server, place: Path) -> None:
    with Process(
        ("say", LONG[:5000], "--url", tone_server.url), cwd=place, stdout=subprocess.PIPE
    ) as say:
        assert say.process.stdout is not None
        assert say.process.stdout.read(4) == b"RIFF"
        say.process.stdout.close()

        assert say.process.wait(20) == Exit.PIPE_CLOSED
        assert say.said == []


def test_a_text_of_any_length_is_said_in_several_utterances(
    tone_server: Server, place: Path
) -> None:
    text = LONG * 3
    done = run_legato(
        "say", "-", "-o", "x.wav", "--json", "--rate", "8000", "--url", tone_server.url,
        cwd=place, stdin=text.encode(),
    )  # fmt: skip

    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr, report["intact"]) == (0, b"", True)
    assert report["samples"] > 0.95 * len(text) * CHARACTER / 3


# listen


def test_listen_writes_each_form(tone_server: Server, place: Path) -> None:
    path = place / "x.wav"
    path.write_bytes(wav_bytes(bytes(range(250)) * 160, AudioFormat(16_000)))
    url = tone_server.url

    text = run_legato("listen", "x.wav", "--url", url, cwd=place).stdout.decode()
    report = json.loads(run_legato("listen", "x.wav", "--json", "--url", url, cwd=place).stdout)
    srt = run_legato("listen", "x.wav", "--srt", "--url", url, cwd=place).stdout.decode()
    vtt = run_legato("listen", "x.wav", "--vtt", "--url", url, cwd=place).stdout.decode()
    piped = run_legato("listen", "-", "--url", url, cwd=place, stdin=path.read_bytes())

    first, second = text.splitlines()
    cue = "\n".join(textwrap.wrap(first, 42))
    assert piped.stdout.decode() == text
    assert {"text", "words", "first_partial_s", "final_latency_s", "audio_s"} <= set(report)
    assert report["text"] == f"{first} {second}"
    assert [word["text"] for word in report["words"]] == report["text"].split()
    assert report["audio_s"] == pytest.approx(1.25)
    assert srt.startswith(f"1\n00:00:00,000 --> 00:00:01,000\n{cue}\n\n2\n00:00:01,000 --> ")
    assert vtt.startswith(f"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n{cue}\n\n")


@pytest.mark.parametrize("form", [(), ("--srt",)])
def test_text_on_a_terminal_is_not_mixed_with_the_progress(
    tone_server: Server, place: Path, form: tuple[str, ...]
) -> None:
    (place / "x.wav").write_bytes(wav_bytes(bytes(64_000), AudioFormat(16_000)))
    args = ("listen", "x.wav", *form, "--url", tone_server.url)
    plain = run_legato(*args, cwd=place).stdout.decode()
    screen, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "legato", *args],
        cwd=place, stdin=terminal, stdout=terminal, stderr=terminal, timeout=60, check=True,
        env=environment({"TERM": "xterm"}),
    )  # fmt: skip
    os.close(terminal)

    shown = read_all(screen).replace("\r\n", "\n")
    assert "heard" in shown
    for line in plain.splitlines():
        assert re.search(rf"(^|\n|\x1b\[2K){re.escape(line)}\n", shown), (line, shown)


@pytest.mark.parametrize(("text", "code"), [("One. Two.", 0), ("?!", Exit.BAD_INPUT)])
def test_say_shows_on_a_terminal_how_far_it_is_and_what_failed(
    tone_server: Server, place: Path, text: str, code: int
) -> None:
    screen, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "legato", "say", text, "-o", "x.wav", "--url", tone_server.url],
        cwd=place, stdin=terminal, stdout=terminal, stderr=terminal, timeout=60,
        env=environment({"TERM": "xterm"}),
    )  # fmt: skip
    os.close(terminal)

    shown = read_all(screen).replace("\r\n", "\n")
    assert done.returncode == code
    assert re.search(r"said \d\.\d s", shown)
    if code:
        assert re.search(r"\x1b\[2K\x1b\[1mlegato:\x1b\[0m unsupported_text: [^\n]+\n$", shown)


def read_all(screen: int) -> str:
    data = b""
    with os.fdopen(screen, "rb", buffering=0) as reading, suppress(OSError):
        while more := reading.read(65_536):  # ends with EIO
            data += more
    return data.decode()


def test_a_cut_file_gives_what_is_there_and_a_warning(tone_server: Server, place: Path) -> None:
    whole = wav_bytes(bytes(96_000), AudioFormat(16_000))
    (place / "cut.wav").write_bytes(whole[:48_000])

    done = run_legato("listen", "cut.wav", "--url", tone_server.url, cwd=place)

    assert done.returncode == 0
    assert len(done.stdout.split()) == 8
    assert "cut.wav: is cut off; 1.5 s of 3.0 s could be read" in told(done)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "is empty (0 bytes)"),
        (b"This is a letter.", "is text, not audio"),
        (b"RIFF\xff\xff\xff\xffWAVEfmt ", "cut or damaged"),
    ],
)
def test_a_file_that_is_no_audio_is_refused_with_its_name(
    tone_server: Server, place: Path, content: bytes, cause: str
) -> None:
    (place / "bad.wav").write_bytes(content)

    done = run_legato("listen", "bad.wav", "--url", tone_server.url, cwd=place)

    assert done.returncode == Exit.BAD_INPUT
    assert told(done).startswith("legato: bad_audio: bad.wav: ")
    assert cause in told(done)


# failures


@pytest.mark.parametrize(
    ("args", "code", "exit_"),
    [
        (("say", "?!", "-o", "x.wav"), "unsupported_text", Exit.BAD_INPUT),
        (("say", "a" * 20_001, "-o", "x.wav"), "text_too_long", Exit.BAD_INPUT),
        (("say", "a", "-o", "x.wav", "--voice", "nobody"), "unknown_voice", Exit.BAD_INPUT),
        (("say", "a", "-o", "x.wav", "--engine", "nobody"), "unknown_engine", Exit.BAD_INPUT),
        (("listen", "missing.wav"), "bad_audio", Exit.BAD_INPUT),
        (("listen", "-", "--engine", "nobody"), "unknown_engine", Exit.BAD_INPUT),
    ],
)
def test_a_failure_is_one_sentence_and_leaves_no_file(
    tone_server: Server, place: Path, args: tuple[str, ...], code: str, exit_: Exit
) -> None:
    done = run_legato(*args, "--url", tone_server.url, cwd=place, stdin=bytes(3_200))

    assert (done.returncode, done.stdout) == (exit_, b"")
    assert told(done).startswith(f"legato: {code}: ")
    assert list(place.iterdir()) == []


def test_a_server_that_is_not_there_is_told_from_one_that_is_no_legato(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    nowhere = run_legato("say", "a", "-o", "x.wav", "--url", f"ws://127.0.0.1:{port}", cwd=place)
    nonsense = run_legato("voices", "--url", "gopher://x", cwd=place)

    assert (nowhere.returncode, nonsense.returncode) == (Exit.UNREACHABLE, Exit.UNREACHABLE)
    assert "Connection refused" in told(nowhere)
    assert "legato serve" in told(nowhere)
    assert "ws://HOST:PORT" in told(nonsense)


@pytest.mark.parametrize(
    ("args", "code", "exit_", "words"),
    [
        (("--host", "192.0.2.1"), "cannot_listen", Exit.CANNOT_LISTEN, "192.0.2.1"),
        (("--processes", "2"), "bad_settings", Exit.USAGE, "--bus"),
        (("--tls-cert", "missing.pem"), "bad_certificate", Exit.USAGE, "missing.pem"),
    ],
)
def test_serve_says_why_it_cannot(
    place: Path, args: tuple[str, ...], code: str, exit_: Exit, words: str
) -> None:
    done = run_legato("serve", "--port", "0", *args, cwd=place)

    assert done.returncode == exit_
    assert told(done).startswith(f"legato: {code}: ")
    assert words in told(done)


def test_an_address_of_metrics_without_a_port_is_refused(place: Path) -> None:
    done = run_legato("serve", "--port", "0", cwd=place, env={"LEGATO_METRICS__HOST": "127.0.0.1"})

    assert done.returncode == Exit.USAGE
    assert told(done).startswith("legato: bad_settings: environment: metrics.host has no effect")


def test_a_server_can_be_watched_on_a_port_of_its_own(place: Path) -> None:
    env = {**TONES, "LEGATO_METRICS__PORT": "0"}
    with Process(("serve", "--port", "0"), cwd=place, env=env) as process:
        line = process.wait_for("metrics on")
        found = re.search(r"metrics on (http://127\.0\.0\.1:\d+/metrics)", line)
        assert found is not None
        with urllib.request.urlopen(found[1], timeout=5) as answer:
            assert b"legato_" in answer.read()
        assert process.interrupt() == 0


def test_a_port_in_use_is_named(tone_server: Server, place: Path) -> None:
    port = tone_server.url.rpartition(":")[2]

    done = run_legato("serve", "--port", port, cwd=place)

    assert done.returncode == Exit.CANNOT_LISTEN
    assert told(done).startswith(f"legato: port_in_use: port {port} ")
    assert "a Legato server answers there" in told(done)
    assert "--port 8440" in told(done)


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("--version",),
        ("say", "--help"),
        ("config", "show"),
        ("config", "show", "--json"),
        ("doctor",),
        ("voices",),
        ("say", "One.", "-o", "-"),
        ("say", "One.", "--json"),
        ("listen", "x.wav"),
        ("listen", "x.wav", "--json"),
        ("listen", "x.wav", "--vtt"),
    ],
)
def test_what_cannot_be_written_is_told_of_every_command(
    tone_server: Server, place: Path, args: tuple[str, ...]
) -> None:
    (place / "x.wav").write_bytes(wav_bytes(bytes(32_000), AudioFormat(16_000)))
    with (
        FULL.open("wb") as full,
        Process(args, cwd=place, env=to(tone_server), stdout=full) as full_one,
    ):
        assert full_one.process.wait(30) == Exit.BAD_INPUT
        line = full_one.wait_for("legato: ")
    assert line.startswith("legato: cannot_write: standard output cannot be written: No space")
    assert full_one.said == [line]

    reading, writing = os.pipe()
    os.close(reading)
    with Process(args, cwd=place, env=to(tone_server), stdout=writing) as left_alone:
        os.close(writing)
        assert left_alone.process.wait(30) == Exit.PIPE_CLOSED
    assert left_alone.said == []


def to(server: Server) -> dict[str, str]:
    """Settings of a client of this server."""
    return {"LEGATO_CLIENT__URL": server.url}


def test_no_password_of_an_address_is_shown(place: Path) -> None:
    url = "ws://me:open-sesame@127.0.0.1:1"
    env = {"LEGATO_BUS__URL": "redis://:open-sesame@127.0.0.1:1/0"}
    failures = [
        run_legato("say", "One.", "-o", "x.wav", "--url", url, cwd=place),
        run_legato("voices", "--url", url, cwd=place),
        run_legato("voices", "--url", url.removeprefix("ws://"), cwd=place),
        run_legato("voices", "--url", url.replace("-", " "), cwd=place),
        run_legato("voices", "--url", url.replace("ws:", "gopher:"), cwd=place),
        run_legato("worker", cwd=place, env=env),
        run_legato("worker", cwd=place, env={"LEGATO_BUS__URL": url}),
    ]
    shown = run_legato("config", "show", cwd=place, env=env).stdout

    for done in failures:
        assert done.returncode in {Exit.UNREACHABLE, Exit.USAGE}
        assert "sesame" not in told(done)
    assert b"sesame" not in shown


@pytest.mark.parametrize(
    ("args", "code", "exit_", "words"),
    [
        (("listen", ""), "bad_usage", Exit.USAGE, "name of the FILE is empty"),
        (("say", "One.", "-o", ""), "bad_usage", Exit.USAGE, "-o has no name of a file"),
        (("say", "caf\udce9", "-o", "x.wav"), "unsupported_text", Exit.BAD_INPUT, "not UTF-8"),
    ],
)
def test_an_argument_that_cannot_be_is_named_for_what_it_is(
    place: Path, args: tuple[str, ...], code: str, exit_: Exit, words: str
) -> None:
    done = run_legato(*args, cwd=place)

    assert done.returncode == exit_
    assert told(done).startswith(f"legato: {code}: ")
    assert words in told(done)


def test_a_server_refuses_settings_that_would_break_it(place: Path) -> None:
    (place / "legato.toml").write_text("[worker]\nclaim_wait = 0\n")

    done = run_legato("serve", "--port", "0", cwd=place)

    assert done.returncode == Exit.USAGE
    assert told(done) == (
        "legato: bad_settings: file: worker.claim_wait must be 0.01 to 86400, not 0"
    )


def test_a_server_without_an_engine_says_what_is_missing_and_not_that_it_is_ready(
    place: Path,
) -> None:
    engines = [{"kind": "synthesize", "name": "hibari", "target": "no.such.module:Engine"}]
    env = {"LEGATO_WORKER__ENGINES": json.dumps(engines)}
    with Process(("serve", "--port", "0"), cwd=place, env=env) as serve:
        serve.wait_for("no engine can be used")
        why = serve.wait_for("hibari (synthesize): ")
        assert "no.such.module" in why
        assert serve.interrupt() == 0
    assert not [line for line in serve.said if "ready after" in line or "legato say" in line]


# signals


EARLY = """
import os, sys
from _signal import SIGINT

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "legato.cli.commands":
            os.kill(os.getpid(), SIGINT)

sys.meta_path.insert(0, Interrupting())
from legato.cli import main
assert not {"enum", "pathlib", "re", "typing"} & set(sys.modules)
main()
"""
"""Presses Ctrl-C when the first slow import begins; before it nothing slow was imported."""


def test_ctrl_c_in_the_first_moments_is_quiet(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", EARLY], cwd=place, capture_output=True, timeout=60,
        env=environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (Exit.INTERRUPTED, b"", b"")


def test_serve_ends_in_good_order(place: Path) -> None:
    with Process(("serve", "--port", "0"), cwd=place, env=TONES) as serve:
        serve.wait_for("ready after")

        assert serve.interrupt() == 0
        assert serve.left() == []


@pytest.mark.parametrize(
    ("number", "exit_"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)]
)
def test_an_interrupted_say_leaves_nothing_behind(
    voice_server: Server, place: Path, number: signal.Signals, exit_: Exit
) -> None:
    with Process(("say", LONG, "-o", "x.wav", "--url", voice_server.url), cwd=place) as say:
        wait_until(lambda: any(place.iterdir()), say)

        assert say.interrupt(number) == exit_
        assert say.left() == []
    assert list(place.iterdir()) == []


def test_an_interrupted_command_takes_its_own_server_along(place: Path) -> None:
    with Process(("say", LONG, "-o", "x.wav"), cwd=place) as say:
        wait_until(lambda: len(say.family()) > 0, say)

        assert say.interrupt() == Exit.INTERRUPTED
        assert say.left() == []
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("command", ["say", "listen"])
def test_ctrl_c_ends_a_command_that_waits_for_a_pipe(
    tone_server: Server, place: Path, command: str
) -> None:
    args = (command, "-", "--url", tone_server.url)
    with Process(args, cwd=place, stdin=subprocess.PIPE) as waiting:
        assert waiting.process.stdin is not None
        time.sleep(1.5)

        assert waiting.interrupt() == Exit.INTERRUPTED


def wait_until(holds: Callable[[], bool], process: Process, timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert process.process.poll() is None, process.said
        assert time.monotonic() < deadline
        time.sleep(0.02)


# devices

FAKE_DEVICES = """
import threading, time

class PortAudioError(Exception):
    pass

class _Stream:
    latency = 0.0

    def __init__(self, *, samplerate, blocksize, channels, dtype, callback):
        self._bytes = 2 * channels * blocksize
        self._frames = blocksize
        self._callback = callback
        self._closed = threading.Event()

    def start(self):
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while not self._closed.wait(0.002):
            self._step()

    def close(self):
        self._closed.set()

class RawOutputStream(_Stream):
    def _step(self):
        out = bytearray(self._bytes)
        self._callback(memoryview(out), self._frames, None, None)
        with open("heard.pcm", "ab") as file:
            file.write(out)

class RawInputStream(_Stream):
    def _step(self):
        self._callback(memoryview(bytes(range(160)) * 4), self._frames, None, None)
"""
"""A binding of PortAudio whose loudspeaker is a file, and whose microphone hums."""


@pytest.fixture
def devices(place: Path) -> dict[str, str]:
    folder = place / "devices"
    folder.mkdir()
    (folder / "sounddevice.py").write_text(FAKE_DEVICES)
    return {"PYTHONPATH": str(folder)}


def sounding(pcm: bytes) -> list[int]:
    """The samples that are not silence."""
    return [sample for sample in memoryview(pcm).cast("h") if sample]


def test_say_plays_every_sample(tone_server: Server, place: Path, devices: dict[str, str]) -> None:
    args = ("say", "One. Two. Three.", "--play", "-o", "x.wav", "--url", tone_server.url)
    done = run_legato(*args, cwd=place, env=devices)

    heard = (place / "heard.pcm").read_bytes()
    assert (done.returncode, done.stderr) == (0, b"")
    # On a busy machine an underrun puts silence in between; nothing is lost or played twice.
    assert sounding(pcm_of(place / "x.wav")) == sounding(heard)


def test_ctrl_c_ends_the_microphone_and_the_last_words_are_written(
    tone_server: Server, place: Path, devices: dict[str, str]
) -> None:
    args = ("listen", "--mic", "--url", tone_server.url)
    with Process(args, cwd=place, env=devices, stdout=subprocess.PIPE) as listen:
        assert listen.process.stdout is not None
        first = listen.process.stdout.readline()

        code = listen.interrupt()

        rest = listen.process.stdout.read()
    assert code == Exit.OK
    assert len(first.split()) == 5
    assert rest.endswith(b"\n")


# the rest


def test_a_text_is_spoken_and_understood_without_a_server(place: Path) -> None:
    sentence = "The weather is nice today."
    spoken = run_legato("say", sentence, "-o", "x.wav", cwd=place)
    heard = run_legato("listen", "x.wav", cwd=place)

    assert (spoken.returncode, spoken.stdout, spoken.stderr) == (0, b"", b"")
    assert (heard.returncode, heard.stderr) == (0, b"")
    assert heard.stdout.decode().strip().lower() == sentence.lower()


def test_voices_are_listed_for_people_and_programs(voice_server: Server, place: Path) -> None:
    table = run_legato("voices", "--url", voice_server.url, cwd=place).stdout.decode()
    listed = run_legato("voices", "--json", "--url", voice_server.url, cwd=place).stdout

    engines = {(engine["kind"], engine["name"]): engine for engine in json.loads(listed)["engines"]}
    assert engines["synthesize", "hibari"]["default"]
    assert engines["recognize", "moonshine"]["state"] == "ready"
    assert "heart" in table
    assert "moonshine" in table


def test_settings_name_the_server(tone_server: Server, place: Path) -> None:
    (place / "legato.toml").write_text(f'[client]\nurl = "{tone_server.url}"\n')

    from_file = run_legato("voices", "--json", cwd=place)
    from_variable = run_legato("voices", cwd=place, env={"LEGATO_CLIENT__URL": "ws://127.0.0.1:1"})

    assert [engine["name"] for engine in json.loads(from_file.stdout)["engines"]] == [
        "tone",
        "tone",
    ]
    assert "127.0.0.1:1/" in told(from_variable)


def test_config_shows_values_origins_and_no_secret(place: Path) -> None:
    (place / "legato.toml").write_text("[gateway]\nport = 9000\n")
    env = {"LEGATO_CLIENT__KEY": "open-sesame", "LEGATO_LOG__LEVEL": "debug"}

    rows = json.loads(run_legato("config", "show", "--json", cwd=place, env=env).stdout)
    table = run_legato("config", "show", cwd=place, env=env).stdout.decode()
    wrong = run_legato("config", "show", cwd=place, env={"LEGATO_GATEWAY__PROT": "1"})

    assert rows["gateway.port"] == {"value": 9000, "origin": "file"}
    assert rows["log.level"] == {"value": "debug", "origin": "environment"}
    assert rows["gateway.host"]["origin"] == "default"
    assert "open-sesame" not in table + json.dumps(rows)
    assert "gateway.port" in table
    assert wrong.returncode == Exit.USAGE
    assert "gateway.prot is not a setting; did you mean gateway.port?" in told(wrong)


def test_the_doctor_names_what_is_there(place: Path) -> None:
    findings = json.loads(run_legato("doctor", "--json", cwd=place).stdout)
    printed = run_legato("doctor", cwd=place)

    states = {finding["name"]: finding["state"] for finding in findings}
    assert states["python"] == states["[server]"] == states["[voices]"] == "ok"
    assert states["hibari (synthesize)"] == states["moonshine (recognize)"] == "ok"
    assert printed.returncode == 0
    assert b"hibari (synthesize)" in printed.stdout


LIGHT = """
import sys
from importlib.machinery import PathFinder

ABSENT = set(sys.argv.pop(1).split(","))

class Without:
    find_distributions = PathFinder.find_distributions

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in ABSENT:
            return PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
from legato.cli import main
try:
    main()
finally:
    with open("modules", "w") as file:
        print(*sys.modules, file=file)
"""
"""Runs a command as if the extras were not installed, and notes what was imported."""


def run_light(*args: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    absent = ",".join(module for modules in MODULES.values() for module in modules)
    command = [sys.executable, "-c", LIGHT, f"{absent},uvloop", *args]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, timeout=60, stdin=subprocess.DEVNULL
    )


def test_the_light_client_needs_nothing_of_a_server(tone_server: Server, place: Path) -> None:
    url = ("--url", tone_server.url)
    commands = [
        ("say", "One.", "-o", "x.wav", *url),
        ("listen", "x.wav", *url),
        ("voices", *url),
        ("doctor",),
        ("config", "show"),
    ]

    for command in commands:
        done = run_light(*command, cwd=place)
        imported = (place / "modules").read_text().split()
        assert (done.returncode, done.stderr) == (0, b""), command
        heavy = ("legato.bus", "legato.gateway.server", "legato.worker.runner", "legato.cli.node")
        assert not [name for name in imported if name.startswith(heavy)], command


def test_what_is_not_installed_is_named_with_the_line_to_type(place: Path) -> None:
    serve = run_light("serve", cwd=place)
    mic = run_light("listen", "--mic", cwd=place)
    say = run_light("say", "One.", "-o", "x.wav", cwd=place)

    assert (serve.returncode, mic.returncode) == (Exit.NOT_INSTALLED, Exit.NOT_INSTALLED)
    assert add_command("server") in told(serve)
    assert add_command("audio") in told(mic)
    assert say.returncode == Exit.UNREACHABLE
    assert add_command("server", "voices") in told(say)
