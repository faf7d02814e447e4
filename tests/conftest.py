from __future__ import annotations

import pytest


@pytest.fixture(params=["in-memory", "streaming"])
def collect(request):
    """Collect a lazy frame on either engine."""
    return lambda frame: frame.lazy().collect(engine=request.param)
