"""Contracts for those who write engines of their own; needs pytest."""

import pytest

pytest.register_assert_rewrite(
    "legato.testing.batches", "legato.testing.synthesizers", "legato.testing.recognizers"
)
