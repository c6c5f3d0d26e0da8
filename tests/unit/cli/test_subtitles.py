import json
from pathlib import Path

import pytest

from legato.cli.subtitles import LINE_CHARS, VTT_HEADER, Cue, split, srt_cue, vtt_cue

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "subtitles.json").read_text(encoding="utf-8")
)

CUE = Cue(3_661.0625, 3_662.9996, "a < b & c\n\nd")


def test_subrip() -> None:
    assert srt_cue(7, CUE) == "7\n01:01:01,062 --> 01:01:03,000\na < b & c\nd\n\n"


def test_webvtt_escapes_what_it_reserves() -> None:
    assert vtt_cue(CUE) == "01:01:01.062 --> 01:01:03.000\na &lt; b &amp; c\nd\n\n"


@pytest.mark.parametrize("arrow", ["-->", "a --> b"])
def test_no_text_can_pass_for_a_time(arrow: str) -> None:
    assert vtt_cue(Cue(0, 1, arrow)).count("-->") == 1


@pytest.mark.parametrize("text", ["word " * 40, "字" * 200, "short"])
def test_a_long_text_becomes_cues_of_two_lines_that_share_its_time(text: str) -> None:
    cues = list(split(Cue(10.0, 20.0, text)))
    lines = [cue.text.split("\n") for cue in cues]

    assert max(map(len, lines)) <= 2
    assert max(len(line) for some in lines for line in some) <= LINE_CHARS
    assert "".join("".join(some) for some in lines).replace(" ", "") == text.replace(" ", "")
    assert [cues[0].start, *(cue.end for cue in cues)] == [*(cue.start for cue in cues), 20.0]
    assert all(cue.start < cue.end for cue in cues)


def test_the_time_of_a_cue_is_in_proportion_to_its_characters() -> None:
    first, second = split(Cue(0.0, 12.0, f"{'a' * 42} {'b' * 42} {'c' * 42}"))

    assert (first.end, second.start) == (8.0, 8.0)


def test_the_files_that_every_implementation_writes() -> None:
    cues = [cue for text in VECTORS["texts"] for cue in split(Cue(**text))]

    assert "".join(srt_cue(number, cue) for number, cue in enumerate(cues, 1)) == VECTORS["srt"]
    assert VTT_HEADER + "".join(map(vtt_cue, cues)) == VECTORS["vtt"]
