import pytest

from legato.bus.base import NOTES
from legato.bus.redis import RedisBus
from legato.bus.redis.notes import check_all
from tests.contract.buses import stream
from tests.redis_server import RedisServer
from tests.unit.bus.redis.lines import Line

KEY = stream()


def test_notes_go_into_a_command_by_name_and_value() -> None:
    assert check_all({"a": b"1", "b": b""}) == ["a", b"1", "b", b""]


def test_notes_that_are_too_many_go_nowhere() -> None:
    with pytest.raises(ValueError, match=str(NOTES)):
        check_all({f"n{n}": b"" for n in range(NOTES + 1)})


async def test_notes_are_fields_of_the_record(bus: RedisBus, server: RedisServer) -> None:
    await bus.logs.create(KEY, ttl=60, notes={"start": b"1:2:3"})
    line = Line(server)
    field = line("HGET", "legato:{default/s1}:r", ".start")
    assert isinstance(field, bytes)
    assert field.endswith(b"::1:2:3")
    assert (await bus.logs.notes(KEY))["start"].value == b"1:2:3"
