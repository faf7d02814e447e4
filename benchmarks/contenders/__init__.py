"""One contender a module, each with ``contender(task) -> (load, evaluate)``.

Modules import what they need inside that function: the time that takes is shown apart.
"""

from __future__ import annotations

import importlib.util

NEEDS = {
    "floor": "numba",
    "duckdb": "duckdb",
    "pandas": "pandas",
    "polars_ds": "polars_ds",
    "pytrec_eval": "pytrec_eval",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "sklearn": "sklearn",
    "torchmetrics": "torchmetrics",
}
"""The module without which a contender is left out."""


def missing(contender: str) -> bool:
    need = NEEDS.get(contender)
    return need is not None and importlib.util.find_spec(need) is None
