"""From numbers to decisions: compare systems, gate a change, plan a test.

``compare`` imports the rooms ``input``, ``sums`` and ``tests``; ``gate`` and
``systems`` import ``compare``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.comparison.gate.gate_result import Gate
    from polars_rank.comparison.result import Comparison
    from polars_rank.comparison.sums.merging import merge
    from polars_rank.comparison.sums.moments import moments
    from polars_rank.comparison.systems.orders import discriminative, orders, stability
    from polars_rank.comparison.systems.reproduction import reproduction
    from polars_rank.comparison.systems.sample_size import power
    from polars_rank.comparison.systems.standardize import standardize
    from polars_rank.comparison.systems.trend import trend

__all__ = [
    "Comparison",
    "Gate",
    "discriminative",
    "merge",
    "moments",
    "orders",
    "power",
    "reproduction",
    "stability",
    "standardize",
    "trend",
]

# Rooms below import this package: what is above them is imported when it is asked for.
_LATER = {
    "Comparison": "result",
    "Gate": "gate.gate_result",
    "discriminative": "systems.orders",
    "merge": "sums.merging",
    "moments": "sums.moments",
    "orders": "systems.orders",
    "power": "systems.sample_size",
    "reproduction": "systems.reproduction",
    "stability": "systems.orders",
    "standardize": "systems.standardize",
    "trend": "systems.trend",
}

__getattr__ = _later(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
