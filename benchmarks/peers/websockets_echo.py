"""An echo with `websockets`: what comes goes back."""

from __future__ import annotations

import uvloop
from websockets.asyncio.server import ServerConnection, serve


async def echo(connection: ServerConnection) -> None:
    """Send every message back."""
    async for message in connection:
        await connection.send(message)


async def main() -> None:
    """Listen on a free port and print it."""
    async with serve(
        echo, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=2048
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(f"ready on ws://127.0.0.1:{port}", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
