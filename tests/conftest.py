"""What holds for every test."""

import logging
from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

pytest_plugins = ["pytester", "tests.skips"]

# No deadline: a slow machine is not a broken law. (With CI=true hypothesis itself turns to the same
# examples in every run.)
settings.register_profile("legato", settings(), deadline=None, print_blob=True)
settings.load_profile("legato")


@pytest.fixture(scope="session", autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    """A blocking call that our code makes on an event loop raises `BlockingError`."""
    with blockbuster_ctx("legato"):
        yield


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sends all logs to a stream that is closed then."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
