"""Parameters that only the slow tests try."""

from __future__ import annotations

import pytest


def slow(*values: object) -> object:
    """A row of parameters for ``-m slow``."""
    return pytest.param(*values, marks=pytest.mark.slow)


ENGINES = ["streaming", slow("in-memory")]
"""Where one engine does for the quick tests: that of the larger data."""
