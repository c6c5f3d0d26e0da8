"""The proxy that cuts connections, for tests; the benchmarks use the same."""

from legato.bench.cutter import Cut, Cutter, Direction

__all__ = ["Cut", "Cutter", "Direction"]
