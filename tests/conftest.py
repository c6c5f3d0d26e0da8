"""What holds for every test."""

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
