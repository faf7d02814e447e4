"""Parameters that only the slow tests try."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def slow(*values: object) -> object:
    """A row of parameters for ``-m slow``."""
    return pytest.param(*values, marks=pytest.mark.slow)


def every_other(values: Iterable[object]) -> list[object]:
    """Of values that are alike: half for the quick tests, the others are slow."""
    return [slow(value) if i % 2 else value for i, value in enumerate(values)]


ENGINES = ["streaming", slow("in-memory")]
"""Where one engine does for the quick tests: that of the larger data."""
