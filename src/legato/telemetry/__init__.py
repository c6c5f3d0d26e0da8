"""Seeing what runs: logs and metrics."""
