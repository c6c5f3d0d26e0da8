"""What holds of the scripts by themselves: repeating one does no harm, also when memory is out."""

from __future__ import annotations

import pytest

from legato.bus.redis import scripts
from legato.bus.redis.link import Command, Reply
from legato.bus.redis.scripts import SCRIPTS
from tests.redis_server import RedisServer
from tests.unit.bus.redis.lines import Line

STREAM = ("{s}:r", "{s}:t")
RECORD = ("{s}:r",)
BASE = "{jobs}"


@pytest.fixture
def line(server: RedisServer) -> Line:
    line = Line(server)
    for script in SCRIPTS:
        line("SCRIPT", "LOAD", script.text)
    return line


def made(line: Line) -> None:
    """Make a stream whose log a writer holds under the token `k`."""
    line(*scripts.CREATE(STREAM, "i", 60_000, 300_000))
    assert line(*taking("w", "k")) == [b"ok", b"i", 0, 0, 0, 0, b"", b""]


def taking(
    writer: str, token: str, *, fence: int = 0, watcher: str = "aa/1", incarnation: str = ""
) -> Command:
    return scripts.TAKE(RECORD, "u", incarnation, fence, writer, token, watcher)


def store(line: Line, token: str, last: int, *entries: str) -> Reply:
    """Store entries as a writer does, each of one byte, the last with number `last`."""
    before = last - len(entries)
    parts = [part for entry in entries for part in ("e", entry)]
    sizes = f"{before} {last}"
    return line("XADD", f"{{s}}:u:{token}", "NOMKSTREAM", f"{last}-0", "b", sizes, *parts)


def kept(line: Line, token: str) -> list[bytes]:
    """The payloads that are in the log."""
    entries = line("XRANGE", f"{{s}}:u:{token}", "-", "+")
    assert isinstance(entries, list)
    return [payload for _, fields in entries for payload in fields[3::2]]


def test_a_stream_is_made_once_however_often_that_is_asked(line: Line) -> None:
    assert [line(*scripts.CREATE(STREAM, "i", 60_000, 300_000)) for _ in range(2)] == [
        b"made",
        b"made",
    ]
    assert line(*scripts.CREATE(STREAM, "other", 60_000, 300_000)) == b"exists"


def test_who_takes_a_log_learns_how_far_it_and_he_have_come(line: Line) -> None:
    made(line)
    store(line, "k", 3, "a", "b", "c")
    assert line(*taking("w", "l")) == [b"ok", b"i", 3, 3, 3, 0, b"", b""]
    assert line(*taking("v", "m")) == [b"ok", b"i", 0, 3, 3, 0, b"", b""]
    store(line, "m", 4, "d")
    assert line(*taking("w", "n")) == [b"ok", b"i", 3, 4, 4, 0, b"", b""]
    assert line(*taking("v", "o")) == [b"ok", b"i", 4, 4, 4, 0, b"", b""]
    assert kept(line, "o") == [b"a", b"b", b"c", b"d"]


def test_a_log_that_is_taken_again_under_the_same_token_tells_the_same(line: Line) -> None:
    made(line)
    store(line, "k", 1, "a")
    first = line(*taking("v", "l"))
    assert first == line(*taking("v", "l")) == [b"ok", b"i", 0, 1, 1, 0, b"", b""]
    assert line(*taking("w", "m")) == [b"ok", b"i", 1, 1, 1, 0, b"", b""]


def test_what_is_sent_under_an_old_token_is_not_stored(line: Line) -> None:
    made(line)
    line(*taking("w", "l"))
    assert store(line, "k", 1, "late") is None
    assert store(line, "l", 1, "a") == b"1-0"
    assert kept(line, "l") == [b"a"]


def test_a_higher_fence_shuts_out_the_writers_before_and_tells_them(line: Line) -> None:
    made(line)
    line(*taking("v", "l", watcher="bb/2"))
    taken = line(*taking("w2", "m", fence=1, watcher="cc/3"))
    assert taken == [b"ok", b"i", 0, 0, 0, 0, b"", b"aa/1 bb/2"]
    again = line(*taking("w2", "m", fence=1, watcher="cc/3"))
    assert again == [b"ok", b"i", 0, 0, 0, 0, b"", b""]
    assert line(*taking("w", "n")) == [b"fenced", b"1"]
    assert store(line, "l", 1, "late") is None
    assert line("HGET", "{s}:r", "uw") == b"cc/3"
    assert line("HEXISTS", "{s}:r", "u:w") == 0


def test_fences_as_large_as_the_time_in_microseconds_are_told_apart(line: Line) -> None:
    made(line)
    line(*taking("w", "l", fence=1_800_000_000_000_001))
    refused = line(*taking("v", "m", fence=1_800_000_000_000_000))
    assert refused == [b"fenced", b"1800000000000001"]


def test_a_stream_that_is_not_the_one_meant_is_gone(line: Line) -> None:
    assert line(*taking("w", "k")) == [b"gone"]
    made(line)
    assert line(*taking("w", "l", incarnation="before")) == [b"gone"]
    assert line(*scripts.ATTACH(RECORD, "u", "before", "aa/1")) is None


def test_a_log_without_its_key_is_lost(line: Line) -> None:
    made(line)
    line("DEL", "{s}:u:k")
    assert line(*taking("w", "l")) == [b"lost"]


def test_writers_of_one_fence_are_forgotten_when_there_are_many(line: Line) -> None:
    made(line)
    for n in range(1, 101):
        line(*taking(f"w{n}", f"k{n}", watcher=f"aa/{n}"))
        store(line, f"k{n}", n, "a")
    length = line("HLEN", "{s}:r")
    assert isinstance(length, int)
    assert length < 90
    assert line(*taking("w100", "l")) == [b"ok", b"i", 100, 100, 100, 0, b"", b""]
    assert line(*taking("w1", "m")) == [b"ok", b"i", 0, 100, 100, 0, b"", b""]


def noting(name: str, value: str, nonce: str, expected: int | str = "") -> Command:
    return scripts.NOTE(RECORD, name, value, nonce, expected, 16)


def noted(line: Line) -> list[list[bytes]]:
    """Name, version and value of each note."""
    flat = line(*scripts.NOTES(RECORD))
    assert isinstance(flat, list)
    return sorted(flat[i : i + 3] for i in range(0, len(flat), 3))


def test_a_note_is_written_once_however_often_that_is_asked(line: Line) -> None:
    made(line)
    assert [line(*noting("name", "v", "n", 0)) for _ in range(2)] == [1, 1]
    ((name, version, value),) = noted(line)
    assert (name, value) == (b"name", b"v")
    assert line(*noting("name", "w", "o", 0)) == 0
    assert line(*noting("name", "w", "o", int(version))) == 1
    # What comes again after another has written is refused, not carried out.
    assert line(*noting("name", "v", "n", 0)) == 0
    assert noted(line)[0][2] == b"w"


def test_a_trim_that_is_asked_again_leaves_the_note_that_came_after_it(line: Line) -> None:
    made(line)
    store(line, "k", 1, "a")
    assert line(*scripts.TRIM(RECORD, "u", 1, "up", "one")) == [1, b""]
    line(*noting("up", "later", "n"))
    assert line(*scripts.TRIM(RECORD, "u", 1, "up", "one")) is None
    assert [note[2] for note in noted(line)] == [b"later"]


def test_versions_of_notes_rise_though_the_clock_may_not(line: Line) -> None:
    made(line)
    line("HSET", "{s}:r", ".name", "1900000000000000:n:v")
    assert line(*noting("name", "w", "o", 1_900_000_000_000_000)) == 1
    assert noted(line)[0][1] == b"1900000000000001"


def test_a_stream_that_is_not_there_has_no_notes(line: Line) -> None:
    assert line(*noting("name", "v", "n")) is None
    assert line(*scripts.NOTES(RECORD)) is None
    assert line("KEYS", "*") == []


def test_a_log_lives_as_long_as_its_stream(line: Line) -> None:
    made(line)
    ends = [line("PEXPIRETIME", key) for key in ("{s}:r", "{s}:u:k")]
    assert ends[0] == ends[1] != -1
    store(line, "k", 1, "a")
    line(*scripts.TOUCH(STREAM, 120_000, 300_000))
    line(*taking("w", "l"))
    assert line("PEXPIRETIME", "{s}:u:l") == line("PEXPIRETIME", "{s}:r") != ends[0]
    line(*scripts.TRIM(RECORD, "u", 1))
    store(line, "l", 2, "b")
    assert line("PEXPIRETIME", "{s}:u:l") == line("PEXPIRETIME", "{s}:r")


def test_trimming_tells_who_waits_for_room_once(line: Line) -> None:
    made(line)
    store(line, "k", 1, "a")
    store(line, "k", 4, "b", "c", "d")
    store(line, "k", 5, "e")
    assert line(*scripts.TRIM(RECORD, "u", 1)) == [1, b""]
    assert line(*scripts.TRIM(RECORD, "u", 1)) is None
    assert line(*scripts.WAIT(RECORD, "u")) == 1
    # What was stored together goes together; what is trimmed of it counts until then.
    assert line(*scripts.TRIM(RECORD, "u", 3)) == [1, b"aa/1"]
    assert kept(line, "k") == [b"b", b"c", b"d", b"e"]
    assert line(*scripts.TRIM(RECORD, "u", 4)) == [4, b""]
    assert line(*scripts.TRIM(RECORD, "u", 99)) == [5, b""]
    assert kept(line, "k") == []
    assert line(*taking("w", "l")) == [b"ok", b"i", 5, 5, 5, 5, b"", b""]
    assert store(line, "l", 6, "f") == b"6-0"


def test_nobody_waits_for_room_in_a_stream_that_is_gone(line: Line) -> None:
    assert line(*scripts.WAIT(RECORD, "u")) == 0
    assert line("KEYS", "*") == []


def test_a_deletion_that_is_sent_again_says_what_it_erased(line: Line) -> None:
    made(line)
    line(*scripts.ATTACH(RECORD, "d", "", "bb/2"))
    store(line, "k", 5, "a", "b", "c", "d", "e")
    line(*scripts.TRIM(RECORD, "u", 2))
    erased = [line(*scripts.DELETE(STREAM, nonce, 60_000)) for nonce in ("n", "n", "m")]
    assert erased == [[3, b"", b"aa/1", b"bb/2", b""], [3], [0]]
    assert line(*scripts.CREATE(STREAM, "j", 60_000, 300_000)) == b"deleted"
    assert line("KEYS", "*") == [b"{s}:t"]
    assert store(line, "k", 6, "late") is None
    assert line("KEYS", "*") == [b"{s}:t"]


def test_readers_are_listed_once_until_they_go_and_writers_are_told(line: Line) -> None:
    made(line)
    for name in ("bb/1", "bb/12", "cc/3", "bb/1"):
        assert line(*scripts.ATTACH(RECORD, "u", "", name)) == b"aa/1"
    assert line("HGET", "{s}:r", "ur") == b"bb/1 bb/12 cc/3"
    assert line(*taking("w", "l")) == [b"ok", b"i", 0, 0, 0, 0, b"bb/1 bb/12 cc/3", b""]
    assert line(*scripts.DETACH(RECORD, "ur", "bb/1")) == b"aa/1"
    assert line("HGET", "{s}:r", "ur") == b"bb/12 cc/3"
    line(*scripts.DETACH(RECORD, "ur", "bb/"))
    assert line("HGET", "{s}:r", "ur") == b"cc/3"
    line(*scripts.DETACH(RECORD, "ur", "cc/"))
    assert line(*scripts.DETACH(RECORD, "ur", "cc/")) == b""
    assert line("HGET", "{s}:r", "ur") is None


def test_a_list_of_readers_stays_short(line: Line) -> None:
    made(line)
    for n in range(500):
        line(*scripts.ATTACH(RECORD, "u", "", f"channel/{n}"))
    listed = line("HGET", "{s}:r", "ur")
    assert isinstance(listed, bytes)
    assert len(listed) <= 1024
    assert listed.endswith(b" channel/499")


def job(name: str) -> tuple[str, ...]:
    return (f"{BASE}:j:{name}", f"{BASE}:t:{name}", f"{BASE}:c", f"{BASE}:q:e", f"{BASE}:w:e")


def submitting(name: str) -> Command:
    return scripts.SUBMIT((*job(name), f"{BASE}:e", f"{BASE}:u:t"), name, "e", "data", 60_000)


def claiming(nonce: str) -> Command:
    keys = (f"{BASE}:h", f"{BASE}:c", f"{BASE}:o:{nonce}", f"{BASE}:q:e", f"{BASE}:w:e")
    return scripts.CLAIM(keys, BASE, 5_000, 60_000, "aa", 1_000, "w1")


def claimed(line: Line, nonce: str) -> bytes:
    """Claim what must be there; returns the fence."""
    reply = line(*claiming(nonce))
    assert isinstance(reply, list)
    assert len(reply) == 3
    fence = reply[1]
    assert isinstance(fence, bytes)
    return fence


def test_a_claim_that_is_sent_again_gets_the_same_job(line: Line) -> None:
    line(*submitting("a"))
    line(*submitting("b"))
    assert claimed(line, "n") == claimed(line, "n")
    assert line("ZCARD", f"{BASE}:q:e") == 1


def test_a_job_that_is_submitted_again_while_it_waits_wakes_workers_again(line: Line) -> None:
    assert line(*claiming("n")) == [-1]
    assert [line(*submitting("a")) for _ in range(2)] == [[b"aa"], [b"aa"]]
    claimed(line, "m")
    assert line(*submitting("a")) == []


def test_fences_rise_also_when_their_counter_is_lost(line: Line) -> None:
    line(*submitting("a"))
    line(*submitting("b"))
    first = claimed(line, "n")
    line("DEL", f"{BASE}:c")
    assert int(claimed(line, "m")) > int(first)


def test_a_claim_that_finds_nothing_says_when_to_look_again(line: Line) -> None:
    line(*submitting("a"))
    claimed(line, "n")
    reply = line(*claiming("m"))
    assert isinstance(reply, list)
    assert 0 < reply[0] <= 5_001


RECORDS = ("{k}", "{k}:x")


def putting(nonce: str, value: str, expected: str | int = "", ttl: str | int = "") -> Command:
    return scripts.PUT(RECORDS, "name", value, nonce, ttl, expected)


def test_a_put_that_is_sent_again_is_one_put(line: Line) -> None:
    assert [line(*putting("n", "v", 0)) for _ in range(2)] == [1, 1]
    assert line(*putting("m", "v", 0)) == 0


def test_an_addition_that_is_sent_again_is_added_once(line: Line) -> None:
    def add(nonce: str) -> Reply:
        keys = (*RECORDS, f"{{k}}:o:{nonce}")
        return line(*scripts.INCREMENT(keys, "name", 5, nonce, ""))

    assert [add("n"), add("m"), add("n")] == [b"5", b"10", b"5"]


def test_a_counter_does_not_pass_what_lua_counts_exactly(line: Line) -> None:
    line(*putting("n", str(2**53 - 1)))
    keys = (*RECORDS, "{k}:o:m")
    assert line(*scripts.INCREMENT(keys, "name", 1, "m", "")) is None


def test_records_with_an_end_have_a_key_with_one(line: Line) -> None:
    line(*putting("n", "v", ttl=5_000))
    assert [0 < ttl(line, key) <= 5_001 for key in RECORDS] == [True, True]
    line(*scripts.PUT(RECORDS, "other", "v", "m", "", ""))
    assert [ttl(line, key) for key in RECORDS] == [-1, -1]
    line(*scripts.ERASE(RECORDS, "other"))
    assert 0 < ttl(line, "{k}") <= 5_001
    line(*scripts.ERASE(RECORDS, "name"))
    assert line("KEYS", "*") == []


def ttl(line: Line, key: str) -> int:
    left = line("PTTL", key)
    assert isinstance(left, int)
    return left


def out_of_memory(line: Line) -> None:
    line("CONFIG", "SET", "maxmemory", 1 << 20)
    assert str(line("SET", "k", "v")).startswith("OOM")


@pytest.fixture
def full(own_server: RedisServer) -> Line:
    line = Line(own_server)
    for script in SCRIPTS:
        line("SCRIPT", "LOAD", script.text)
    return line


def test_without_memory_no_stream_job_or_entry_is_taken(full: Line) -> None:
    made(full)
    out_of_memory(full)
    replies = [
        full(*scripts.CREATE(("{o}:r", "{o}:t"), "i", 60_000, 300_000)),
        full(*submitting("a")),
        full(*putting("n", "v")),
        store(full, "k", 1, "a"),
    ]
    assert [str(reply)[:4] for reply in replies] == ["OOM "] * 4


def test_without_memory_what_runs_goes_on(full: Line) -> None:
    made(full)
    store(full, "k", 1, "a")
    store(full, "k", 2, "b")
    for name in ("a", "b", "c"):
        full(*submitting(name))
    fence = claimed(full, "n")
    full(*putting("n", "v"))
    out_of_memory(full)
    held = f"{BASE}:h"
    assert full(*scripts.RENEW((held, job("a")[0], job("a")[3]), 9_000, 60_000, "a", fence)) == [1]
    assert claimed(full, "m")
    released = scripts.RELEASE((job("a")[0], held, *job("a")[3:]), "a", fence, 0)
    assert full(*released) == []
    assert full(*taking("w2", "l", fence=7)) == [b"ok", b"i", 0, 2, 2, 0, b"", b"aa/1"]
    assert full(*scripts.TAKE(RECORD, "d", "", 0, "v", "k", "")) == [
        b"ok",
        b"i",
        0,
        0,
        0,
        0,
        b"",
        b"",
    ]
    assert full(*scripts.ATTACH(RECORD, "u", "", "bb/2")) == b"aa/1"
    assert full(*scripts.DETACH(RECORD, "ur", "bb/2")) == b"aa/1"
    assert full(*scripts.WAIT(RECORD, "u")) == 1
    assert full(*scripts.TRIM(RECORD, "u", 1, "up", "a note")) == [1, b"aa/1"]
    assert full(*noting("name", "v", "n")) == 1
    assert [note[::2] for note in noted(full)] == [[b"name", b"v"], [b"up", b"a note"]]
    assert full(*scripts.TOUCH(STREAM, 90_000, 300_000)) == 1
    assert full(*scripts.ERASE(RECORDS, "name")) == 1
    assert full(*scripts.DELETE(STREAM, "n", 60_000)) == [1, b"", b"aa/1", b"", b""]
    again = claimed(full, "o")
    finish = scripts.FINISH((job("a")[0], held, job("a")[3], job("a")[1]), "a", again, 60_000)
    assert full(*finish) == 1


def test_every_script_is_loaded() -> None:
    made_here = [value for value in vars(scripts).values() if isinstance(value, scripts.Script)]
    assert sorted(map(id, made_here)) == sorted(map(id, SCRIPTS))
