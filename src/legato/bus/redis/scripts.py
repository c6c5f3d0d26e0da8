"""What is carried out inside Redis, each as one step: `lua/*.lua`, Redis 7.0 and later.

No payload passes through them on its way into a log: Redis hashes every byte of every string that
Lua is given (7.0.15: 24 µs for an entry of 6,400 bytes, of which XADD by itself is 6).

All can be repeated. Those that must work when the server is out of memory begin with a command
that `maxmemory` does not deny, after which Redis lets a script go on (measured on 7.0.15).
Whole numbers stay exact up to 2^53, as Lua's are doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Final

from legato.bus.redis.link import Command


class Script:
    """A script that is called by its digest.

    Args:
        name: Of its file.
        before: Names of files that it builds on.

    Attributes:
        text: What Redis runs.
    """

    def __init__(self, name: str, *before: str) -> None:
        folder = files(__package__) / "lua"
        self.text = "\n".join((folder / f"{part}.lua").read_text() for part in (*before, name))
        self._digest = sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, keys: Sequence[str], *arguments: str | bytes | int) -> Command:
        """Return the command that runs it."""
        return ("EVALSHA", self._digest, len(keys), *keys, *arguments)


CREATE: Final = Script("create", "notes")
TAKE: Final = Script("take", "list", "log")
ATTACH: Final = Script("attach", "list")
DETACH: Final = Script("detach")
WAIT: Final = Script("wait")
TRIM: Final = Script("trim", "notes", "log")
NOTE: Final = Script("note", "notes")
NOTES: Final = Script("list_notes", "notes")
TOUCH: Final = Script("touch", "log")
DELETE: Final = Script("delete", "log")
SUBMIT: Final = Script("submit", "queue")
CLAIM: Final = Script("claim", "queue")
RENEW: Final = Script("renew")
RELEASE: Final = Script("release", "queue")
FINISH: Final = Script("finish")
WITHDRAW: Final = Script("withdraw", "queue")
DEPTH: Final = Script("depth", "queue")
LIST_JOBS: Final = Script("list_jobs", "queue")
GET: Final = Script("get", "records")
PUT: Final = Script("put", "records")
ERASE: Final = Script("erase", "records")
LIST: Final = Script("list_records", "records")
INCREMENT: Final = Script("increment", "records")

SCRIPTS: Final = (
    CREATE, TAKE, ATTACH, DETACH, WAIT, TRIM, NOTE, NOTES, TOUCH, DELETE,
    SUBMIT, CLAIM, RENEW, RELEASE, FINISH, WITHDRAW, DEPTH, LIST_JOBS,
    GET, PUT, ERASE, LIST, INCREMENT,
)  # fmt: skip
"""All of them; a server that has lost them is given them again."""
