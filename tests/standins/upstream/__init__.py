"""Servers that speak each upstream's contract, with its faults."""
