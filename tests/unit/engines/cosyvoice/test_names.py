import logging
import threading
import time
import uuid
from collections.abc import Iterator
from types import ModuleType

import pytest

from legato.engines.cosyvoice.names import NEEDED, mend, restore
from legato.engines.cosyvoice.run import Abandoned, Run

CODE = """
import logging, threading, time, uuid

def thread(work):
    made = threading.Thread(target=work)
    made.start()
    return made

def join(made):
    made.join()

def sleep(seconds):
    time.sleep(seconds)

def key():
    return str(uuid.uuid1())

def log():
    logging.debug("secret"); logging.info("secret"); logging.warning("secret")
    logging.error("broken")

def others():
    return time.monotonic(), threading.Lock(), uuid.uuid4(), logging.INFO
"""


@pytest.fixture
def module() -> Iterator[ModuleType]:
    made = ModuleType("theirs")
    exec(CODE, vars(made))
    assert mend([made]) == NEEDED | {"logging"}
    yield made
    restore([made])
    assert vars(made)["time"] is time
    assert vars(made)["threading"] is threading
    assert vars(made)["uuid"] is uuid
    assert vars(made)["logging"] is logging


def run() -> Run:
    return Run(ModuleType("model"), 25)


def test_the_rest_of_the_process_is_not_touched(module: ModuleType) -> None:
    assert type(time).__name__ == "module"
    assert threading.Thread.__module__ == "threading"
    assert all(module.others())


def test_a_module_is_mended_until_the_last_model_is_closed(module: ModuleType) -> None:
    mended = vars(module)["time"]
    assert mend([module]) == NEEDED | {"logging"}
    assert vars(module)["time"] is mended
    restore([module])
    assert vars(module)["time"] is mended


def test_a_module_without_the_names_is_left(module: ModuleType) -> None:
    other = ModuleType("other")
    vars(other)["time"] = "noon"
    assert mend([other]) == frozenset()
    assert vars(other)["time"] == "noon"


def test_without_a_request_all_is_as_usual(module: ModuleType) -> None:
    done: list[int] = []
    made = module.thread(lambda: done.append(1))
    module.join(made)
    module.sleep(0)
    assert uuid.UUID(module.key()).version == 1
    assert done == [1]


def test_a_request_learns_its_key(module: ModuleType) -> None:
    request = run()
    with request.entered():
        module.key()
    assert request.clips == 1


def test_a_sleep_ends_with_its_request(module: ModuleType) -> None:
    request = run()
    request.stop()
    with request.entered(), pytest.raises(Abandoned):
        module.sleep(60)


def test_a_thread_works_for_the_request_that_started_it(module: ModuleType) -> None:
    request = run()
    with request.entered():
        made = module.thread(module.key)
        module.join(made)
    assert request.clips == 1
    assert made.daemon


def test_a_thread_that_dies_ends_its_request(module: ModuleType) -> None:
    request = run()
    with request.entered():
        made = module.thread(lambda: 1 / 0)
        with pytest.raises(Abandoned):
            module.join(made)
    assert isinstance(request.failure, ZeroDivisionError)


def test_a_thread_of_a_stopped_request_does_nothing(module: ModuleType) -> None:
    request = run()
    request.stop()
    done: list[int] = []
    with request.entered():
        made = module.thread(lambda: done.append(1))
    made.join()
    assert done == []
    assert request.failure is None


def test_who_waits_for_a_thread_goes_when_the_request_ends(module: ModuleType) -> None:
    request, go_on = run(), threading.Event()
    with request.entered():
        made = module.thread(go_on.wait)
        request.stop()
        with pytest.raises(Abandoned):
            module.join(made)
        go_on.set()
        made.join(5)
    assert not made.is_alive()


def test_what_is_to_be_said_is_not_logged(
    module: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        module.log()
    assert caplog.messages == ["broken"]


def test_no_progress_bar_is_drawn() -> None:
    class Bar:
        def __init__(self, items: list[int]) -> None:
            raise AssertionError("drawn")

    module = ModuleType("theirs")
    vars(module)["tqdm"] = Bar
    mend([module])
    assert list(vars(module)["tqdm"]([1, 2], desc="x")) == [1, 2]
    restore([module])
    assert vars(module)["tqdm"] is Bar
