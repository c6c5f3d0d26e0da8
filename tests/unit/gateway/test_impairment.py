import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message

from legato.errors import MalformedMessage
from legato.gateway.impairment import BODY_TIMEOUT, _body


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def receive() -> Message:
        await asyncio.sleep(BODY_TIMEOUT - 1)
        return {"type": "http.request", "body": b"{", "more_body": True}

    now = asyncio.get_running_loop().time
    begin = now()
    with pytest.raises(MalformedMessage, match="did not come within 5 s"):
        await _body(Request({"type": "http", "method": "POST"}, receive))
    assert now() - begin == pytest.approx(BODY_TIMEOUT)
