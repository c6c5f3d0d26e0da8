"""Whose turn it is: each tenant has one job in each round, however many it has submitted."""

from __future__ import annotations


class Rounds:
    """Gives each job its round; jobs of an earlier one go first.

    That is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with jobs of equal length:
    who has none waiting saves up nothing, and who has many takes nothing from others.
    """

    def __init__(self) -> None:
        self._current = 0
        self._last: dict[str, int] = {}

    def enter(self, tenant: str) -> int:
        """Return the round of a tenant's next job."""
        number = max(self._current, self._last.get(tenant, -1) + 1)
        self._last[tenant] = number
        return number

    def serve(self, tenant: str, number: int) -> None:
        """Note that a tenant's job of that round was handed out."""
        self._current = max(self._current, number)
        self._tidy(tenant)

    def withdraw(self, tenant: str, number: int) -> None:
        """Note that a tenant's job of that round will not be handed out."""
        if self._last.get(tenant) == number:
            self._last[tenant] = number - 1
            self._tidy(tenant)

    def __len__(self) -> int:
        """Tenants that are remembered: those with a job in a round to come."""
        return len(self._last)

    def _tidy(self, tenant: str) -> None:
        if self._last.get(tenant, self._current) <= self._current:
            self._last.pop(tenant, None)
