"""The bus in one process: everything in memory, one event loop, nothing to install."""

from legato.bus.memory.bounds import Bounds
from legato.bus.memory.bus import MemoryBus

__all__ = ["Bounds", "MemoryBus"]
