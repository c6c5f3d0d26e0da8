"""Servers that Legato is measured against, each run as a process of its own, and how to speak."""
