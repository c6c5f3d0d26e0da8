import io
import json
import logging

import pytest

from legato.telemetry import logs


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("json", "info", stream)
    return stream


def test_facts_are_fields_beside_a_constant_message(stream: io.StringIO) -> None:
    logs.logger("legato.x").bind(engine="tone").info("engine ready", slots=4)
    (line,) = lines(stream)
    assert line["event"] == "engine ready"
    assert (line["engine"], line["slots"]) == ("tone", 4)
    assert (line["level"], line["logger"]) == ("info", "legato.x")
    assert "timestamp" in line


@pytest.mark.usefixtures("stream")
def test_processes_of_this_one_can_log_as_it_does() -> None:
    assert logs.configuration() == ("json", "info")


def test_levels_below_the_chosen_one_are_left_out(stream: io.StringIO) -> None:
    logs.logger("legato.x").debug("detail")
    assert lines(stream) == []


@pytest.mark.parametrize("name", sorted(logs.HIDDEN))
def test_what_was_said_and_what_opens_doors_is_hidden(name: str, stream: io.StringIO) -> None:
    logs.logger("legato.x").info("said", **{name: "hello"})
    assert "hello" not in stream.getvalue()


def test_bytes_are_named_by_their_size(stream: io.StringIO) -> None:
    logs.logger("legato.x").info("sent", frame=b"\x01\x02")
    assert lines(stream)[0]["frame"] == "(2 bytes)"


def test_long_values_are_cut_but_not_tracebacks(stream: io.StringIO) -> None:
    logs.logger("legato.x").info("long", reason="r" * 900, trace="t" * 900)
    (line,) = lines(stream)
    assert len(str(line["reason"])) == logs.MAX_CHARS + 1
    assert line["trace"] == "t" * 900


def test_an_exception_is_one_field(stream: io.StringIO) -> None:
    try:
        int("cause")
    except ValueError:
        logs.logger("legato.x").exception("failed")
    assert "ValueError: invalid literal" in str(lines(stream)[0]["exception"])


def test_logs_of_libraries_come_to_the_same_place(stream: io.StringIO) -> None:
    logging.getLogger("library").warning("told %s", "us")
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == ("told us", "warning", "library")


def test_people_get_plain_lines() -> None:
    stream = io.StringIO()
    logs.configure("console", "info", stream)
    logs.logger("legato.x").info("engine ready", slots=4)
    assert "engine ready" in stream.getvalue()
    assert "slots=4" in stream.getvalue()


def test_an_unknown_level_is_told() -> None:
    with pytest.raises(ValueError, match="LOUD"):
        logs.configure("json", "loud")


@pytest.mark.parametrize("format_", ["json", "console"])
def test_no_password_of_an_address_reaches_a_log(format_: logs.Format) -> None:
    stream = io.StringIO()
    logs.configure(format_, "info", stream)
    address = "redis://me:open-sesame@host/0"
    logs.logger("legato.x").info("lost", bus=address)
    logging.getLogger("other").warning("lost %s", address)
    try:
        int(address)  # its error quotes it
    except ValueError:
        logs.logger("legato.x").exception("failed")
        logging.getLogger("other").exception("failed")

    said = stream.getvalue()
    assert "open-sesame" not in said
    assert said.count("redis://***@host/0") == 4
