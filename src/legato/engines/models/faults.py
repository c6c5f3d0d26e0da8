"""What can go wrong with models; none of it is ever on the wire."""

from __future__ import annotations

from legato.errors import LegatoError


class BadModelName(LegatoError):
    """A name that means no model."""

    code = "unknown_model"
    advice = "Give a name of `legato models list --known`, or hub:owner/name."


class ModelNotFound(LegatoError):
    """The hub has no such model, revision or file, or shows it to nobody without a token."""

    code = "unknown_model"
    advice = "Look the model up on the hub's page."


class NotPulled(LegatoError):
    """A model that is not in the folder."""

    code = "unknown_model"
    advice = "`legato models list` shows what is there."


class HubUnreachable(LegatoError):
    """No answer from a hub."""

    code = "hub_unreachable"
    advice = "Check the network, the proxy and the hub's address."


class HubRefused(LegatoError):
    """A hub that wants a token, or an accepted licence."""

    code = "hub_refused"
    advice = "Accept the licence on the model's page and set the hub's access token."


class HubBroken(LegatoError):
    """A hub that answers what cannot be used: no listing, an unsafe path, wrong bytes."""

    code = "hub_broken"
    advice = "Try again later, or another hub."


class NoSpace(LegatoError):
    """A disk that is too full for the model."""

    code = "no_space"
    advice = "Free some space, or set models.folder to another disk."


class ModelBusy(LegatoError):
    """A model that another process is working on."""

    code = "model_busy"
    advice = "Wait until the other process is done."


class FolderUnusable(LegatoError):
    """A folder of models that cannot be read or written."""

    code = "cannot_write"
    advice = "Set models.folder to one that you may write."


class Stopped(Exception):
    """The work was asked to stop; what was fetched so far is kept."""


class Hiccup(Exception):
    """A failure that another try may not meet.

    Attributes:
        retry_after: Seconds that the hub asked for, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
