"""Corrections of p-values for the number of tests in a family."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank.comparison.input.procedures import Correction

Array: TypeAlias = npt.NDArray[np.float64]


def adjusted(p: npt.ArrayLike, correction: Correction = "holm") -> Array:
    """Adjusted p-values of one family; NaN (not tested) stays, and does not count.

    ``"bonferroni"``, ``"sidak"``, ``"holm"`` (step down) and ``"hochberg"`` (step up;
    independent or positively dependent tests) bound the probability of any false
    finding, ``"bh"`` (Benjamini and Hochberg) and ``"by"`` (Benjamini and Yekutieli,
    any dependence) the share of false findings among all.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(values)
    result = values.copy()
    result[known] = _adjusted(values[known], correction)
    return result


def _adjusted(p: Array, correction: Correction) -> Array:
    k = len(p)
    if correction == "none" or k == 0:
        return p
    if correction == "bonferroni":
        return np.minimum(1.0, k * p)
    if correction == "sidak":
        return (
            np.asarray(-np.expm1(k * np.log1p(-p)))
            if (p < 1).all()
            else 1 - (1 - p) ** k
        )
    order = np.argsort(p, kind="stable")
    ranked, i = p[order], np.arange(1, k + 1)
    if correction == "holm":
        steps = np.maximum.accumulate((k - i + 1) * ranked)
    else:
        factor = {
            "hochberg": k - i + 1,
            "bh": k / i,
            "by": k / i * np.sum(1.0 / i),
        }[correction]
        steps = np.minimum.accumulate((factor * ranked)[::-1])[::-1]
    result = np.empty(k)
    result[order] = np.minimum(1.0, steps)
    return result
