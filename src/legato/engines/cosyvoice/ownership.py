"""What the requests of one CosyVoice share and should not: chunk length and known voices.

`token_hop_len` is an attribute of the model that each chunk of any request doubles. Here it becomes
a property of the request. What is kept of a prompt is a dictionary that requests change; here each
gets a copy.
"""

from __future__ import annotations

from typing import Any, Final

from legato.engines.cosyvoice.run import current

HOP: Final = "token_hop_len"


def own_chunk_length(model: Any) -> bool:
    """Have each request own its chunk length; tell whether the model has one to share.

    The class keeps its name, by which CosyVoice tells its versions apart.
    """
    kind = type(model)
    if HOP not in vars(model) or isinstance(getattr(kind, HOP, None), property):
        return HOP in vars(model)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    model.__class__ = type(kind.__name__, (kind,), {**names, HOP: property(_hop, _set_hop)})
    return True


def _hop(model: Any) -> int:
    run = current()
    shared: int = vars(model)[HOP]
    return shared if run is None else run.hop


def _set_hop(model: Any, tokens: int) -> None:
    run = current()
    if run is None:
        vars(model)[HOP] = tokens
    else:
        run.hop = tokens


class Kept(dict[str, Any]):
    """What is known of voices; who asks for one gets a copy of it."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        return dict(value) if isinstance(value, dict) else value


def keep_voices(cosyvoice: Any) -> bool:
    """Have each request use a copy of what is known of its voice; tell whether that was done."""
    front_end = getattr(cosyvoice, "frontend", None)
    known = getattr(front_end, "spk2info", None)
    if not isinstance(known, dict):
        return False
    if not isinstance(known, Kept):
        setattr(front_end, "spk2info", Kept(known))  # noqa: B010  its class is not known here
    return True
