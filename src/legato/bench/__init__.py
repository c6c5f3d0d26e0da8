"""Benchmarks: the system measured from outside, against bounds, in one run with its peers."""
