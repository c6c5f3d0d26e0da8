"""A worker's call that waits for an upstream is given up at once."""

import threading
import time
from contextlib import closing

from legato.engines.upstream.cosyvoice_http import CosyVoiceHttp
from legato.worker.board import SlotState
from legato.worker.frames import Abandon, CallOutput, EndInput, Failed, Feed, Finished, Speak
from legato.worker.service import SynthesisService
from tests.standins.upstream.cosyvoice_http import CosyVoiceFastApi
from tests.standins.upstream.web import Trouble, eventually
from tests.unit.engines.upstream.stage import REQUEST


class FakeBoard:
    """Nobody looks."""

    def put(self, slot: int, state: SlotState, taken: int = 0) -> None:
        """Do nothing."""


def test_a_slot_that_waits_for_an_upstream_is_free_at_once_after_a_cancel() -> None:
    over = threading.Event()
    replies: list[CallOutput] = []

    def send(reply: CallOutput) -> None:
        replies.append(reply)
        if isinstance(reply, Finished | Failed):
            over.set()

    with closing(CosyVoiceFastApi()) as web:
        web.troubles.append(Trouble(pause=5.0))
        engine = CosyVoiceHttp(urls=[web.url], version=1, mode="sft", speakers=["a"])
        with closing(engine):
            engine.load()
            command = Speak(call=1, slot=0, request=REQUEST)
            service = SynthesisService(command, engine, board=FakeBoard(), send=send)
            service.start()
            service.deliver(Feed(1, text="Hello there."))
            service.deliver(EndInput(1))
            assert eventually(lambda: web.asked)
            before = time.monotonic()
            service.deliver(Abandon(1))
            assert over.wait(4)
    assert isinstance(replies[-1], Finished)
    assert time.monotonic() - before < 2
