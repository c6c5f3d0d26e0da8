import asyncio
import re

import pytest

from legato.cli.watching import watched
from legato.gateway.server import PortInUse
from legato.settings import MetricsConfig


async def get(address: str, path: str) -> tuple[int, str]:
    """Status and body."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


async def test_a_worker_shows_its_metrics_and_its_health() -> None:
    why: list[str] = ["engines are loading"]
    config = MetricsConfig(port=0)

    async with watched(config, lambda: next(iter(why), None)) as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        assert await get(address, "/healthz") == (200, "ok\n")
        assert await get(address, "/readyz") == (503, "engines are loading\n")
        why.clear()
        assert await get(address, "/readyz") == (200, "ready\n")
        status, metrics = await get(address, "/metrics")
        assert status == 200
        assert "# TYPE legato_engine_processes gauge" in metrics
        assert (await get(address, "/v1/engines"))[0] == 404

    with pytest.raises(ConnectionRefusedError):
        await get(address, "/healthz")


async def test_a_port_in_use_is_named_with_its_own_option() -> None:
    async with watched(MetricsConfig(port=0), lambda: None) as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(PortInUse, match=f"port {port} .* another --metrics-port"):
            async with watched(MetricsConfig(port=port), lambda: None):
                pass
