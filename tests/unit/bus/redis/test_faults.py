import pytest

from legato.bus.redis.faults import is_oom, translate, word
from legato.bus.redis.link import ReplyError
from legato.errors import BusUnavailable, Internal, LegatoError, Overloaded


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("OOM command not allowed when used memory > 'maxmemory'.", Overloaded),
        ("MISCONF Errors writing to the AOF file: No space left on device", BusUnavailable),
        ("LOADING Redis is loading the dataset in memory", BusUnavailable),
        ("NOPERM this user has no permissions to run the 'evalsha' command", BusUnavailable),
        ("CLUSTERDOWN Hash slot not served", BusUnavailable),
        ("MOVED 3999 127.0.0.1:6381", BusUnavailable),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", Internal),
        ("ERR unknown command", Internal),
    ],
)
def test_an_error_of_redis_becomes_one_of_ours(text: str, kind: type[LegatoError]) -> None:
    error = translate(ReplyError(text))
    assert type(error) is kind
    assert kind is Overloaded or text in error.message


def test_an_error_is_named_by_its_first_word() -> None:
    assert word(ReplyError("NOSCRIPT No matching script.")) == "NOSCRIPT"
    assert is_oom(ReplyError("OOM command not allowed"))
    assert not is_oom(ReplyError("ERR OOM"))
