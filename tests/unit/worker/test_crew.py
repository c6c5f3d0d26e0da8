from legato.worker.config import WorkerConfig
from legato.worker.crew import Crew
from tests.unit.worker.stage import TONE


def test_restarts_are_at_once_then_ever_slower() -> None:
    config = WorkerConfig(restart_delay=0.5, max_restart_delay=30)
    crew = Crew(TONE, config, None, freed=lambda held: None, changed=lambda crew: None)
    delays = [crew.delay(failures) for failures in (1, 2, 3, 4, 50)]
    assert delays == [0.0, 0.5, 1.0, 2.0, 30.0]
