"""The articles' web tier: a Socket.IO namespace that puts chunks into one Redis stream a session.

Results come back by pub/sub, on one channel a session and with one greenlet each, as described.
"""

from __future__ import annotations

import json
import os

import gevent
import redis
from audio_chunk import AudioChunk
from flask import Flask, request
from flask_socketio import Namespace, SocketIO

MAX_CHUNKS = 1000
MAX_CONNECTIONS = 5000
"""To Redis: one for each session's results, so the client's own bound of 100 would not do."""

application = Flask(__name__)
socketio = SocketIO(application, async_mode="gevent", cors_allowed_origins="*")
store = redis.Redis.from_url(os.environ["REDIS_URL"], max_connections=MAX_CONNECTIONS)
listeners: dict[str, gevent.Greenlet] = {}


class Audio(Namespace):
    """The namespace `/ws`."""

    def on_connect(self, _auth: object = None) -> None:
        """Begin a session: a stream, a channel, a greenlet."""
        session = request.sid
        results = store.pubsub(ignore_subscribe_messages=True)
        results.subscribe(f"result:{session}")
        listeners[session] = gevent.spawn(self._forward, session, results)
        store.sadd("sessions", session)

    def on_audio_chunk(self, data: bytes) -> None:
        """Queue one chunk; whatever goes wrong is told to its client."""
        try:
            chunk = AudioChunk.FromString(data)
            store.xadd(
                f"audio:{request.sid}",
                {"pcm": chunk.pcm, "seq": chunk.seq, "last": int(chunk.last)},
                maxlen=MAX_CHUNKS,
                approximate=True,
            )
        except Exception as error:  # noqa: BLE001  as the articles do: each session's faults are its own
            self.emit("error", {"message": str(error)}, room=request.sid)

    def on_disconnect(self, _reason: object = None) -> None:
        """Remove all that the session had."""
        session = request.sid
        store.srem("sessions", session)
        store.delete(f"audio:{session}")
        listener = listeners.pop(session, None)
        if listener is not None:
            listener.kill(block=False)

    def _forward(self, session: str, results: redis.client.PubSub) -> None:
        try:
            for message in results.listen():
                self.emit("result", json.loads(message["data"]), room=session)
        finally:
            results.close()


socketio.on_namespace(Audio("/ws"))
