"""A stand-in for CosyVoice: its Python API and its faults, without weights.

It is written from a description of how the package behaves, not from its source.
"""
