import os
import sys
import time

import pytest

from legato.worker.cputime import cpu_seconds


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_the_processor_time_of_a_process_rises_with_its_work() -> None:
    before = cpu_seconds(os.getpid())
    began = time.process_time()
    while time.process_time() < began + 0.1:
        pass
    after = cpu_seconds(os.getpid())
    assert before is not None
    assert after is not None
    assert after - before >= 0.05


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert cpu_seconds(2**30) is None
