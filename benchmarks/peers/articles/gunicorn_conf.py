"""gunicorn as the articles run it, on a free port that is printed."""

from __future__ import annotations

bind = "127.0.0.1:0"
worker_class = "geventwebsocket.gunicorn.workers.GeventWebSocketWorker"
workers = 2
worker_connections = 2000
backlog = 2048
graceful_timeout = 2
loglevel = "error"


def when_ready(server: object) -> None:
    """Say where it listens."""
    host, port = server.LISTENERS[0].sock.getsockname()
    print(f"ready on ws://{host}:{port}", flush=True)
