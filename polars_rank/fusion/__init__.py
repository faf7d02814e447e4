"""Fusion: one run of several, by scores, ranks or votes; tuned without optimism.

``formulas`` holds the words, norms and methods, which know no frame; ``fuse`` and
``tune`` bind them to runs.
"""

from __future__ import annotations

from polars_rank.fusion.formulas.methods import METHODS, Method
from polars_rank.fusion.formulas.norms import NORMS, Norm
from polars_rank.fusion.fuse import fuse
from polars_rank.fusion.tune import tune
from polars_rank.fusion.tuned import Tuned
from polars_rank.fusion.weight_grid import weight_grid

__all__ = [
    "METHODS",
    "NORMS",
    "Method",
    "Norm",
    "Tuned",
    "fuse",
    "tune",
    "weight_grid",
]
