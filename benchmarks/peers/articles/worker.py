"""The articles' worker: reads all sessions' streams, and publishes a result for each chunk.

It recognizes nothing: what is measured is the way there and back.
"""

from __future__ import annotations

import json
import sys
import time

import redis

LOOK_EVERY = 0.2
"""Seconds between looks for new sessions."""

WAIT_MS = 200
CHUNKS = 100


def work(url: str) -> None:
    """Answer until the process is ended."""
    store = redis.Redis.from_url(url)
    store.ping()
    print("ready", flush=True)
    places: dict[bytes, bytes] = {}
    looked_at = 0.0
    while True:
        if time.monotonic() - looked_at >= LOOK_EVERY:
            sessions = {b"audio:" + session for session in store.smembers("sessions")}
            places = {key: places.get(key, b"0") for key in sessions}
            looked_at = time.monotonic()
        if not places:
            time.sleep(LOOK_EVERY)
            continue
        for key, chunks in store.xread(places, count=CHUNKS, block=WAIT_MS):
            for place, chunk in chunks:
                places[key] = place
                result = {"seq": int(chunk[b"seq"]), "text": "", "final": chunk[b"last"] == b"1"}
                store.publish(b"result:" + key.removeprefix(b"audio:"), json.dumps(result))


if __name__ == "__main__":
    work(sys.argv[1])
