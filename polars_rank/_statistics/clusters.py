"""Errors of ratios of sums over few clusters, or clusters of unequal sizes.

The usual error (CR1) is that of many clusters of one size. Where a few have most of the
size they pull the ratio towards themselves, so that their residuals are too small; and
an error that rests on a few squares varies more than t with a degree of freedom for
each cluster allows. The jackknife (CR3) divides the residual of a cluster by one less
its share h of the size. Here all of them are divided by one less the mean of h,
weighted by the squares of the sizes, so that sums suffice, which add up over parts of
the data. It is t with the effective number of clusters less one as degrees of freedom.

Arguments are numbers or expressions alike: sums of the sizes and of their squares, and
the largest size.

Source: Kish, 1965 (effective number); MacKinnon, Nielsen and Webb, 2023 (CR3); Carter,
Schnepel and Steigerwald, 2017 (effective number of clusters). `benchmarks/clusters.py`
measures how often it errs.
"""

from __future__ import annotations

from typing import TypeVar

import polars as pl

Number = TypeVar("Number", float, pl.Expr)


def effective_number(size: Number, squares: Number) -> Number:
    """Return how many clusters of one size tell as much.

    Examples
    --------
    >>> effective_number(4.0, 4.0), effective_number(6.0, 12.0)
    (4.0, 3.0)
    """
    return size * size / squares


def inflation(n: Number, size: Number, squares: Number, largest: Number) -> Number:
    """Factor on the error of CR1 over ``n`` clusters; 1 if they have one size.

    The mean of h needs the sum of h^3. Of those below the largest it is at least the
    square of the sum of h^2 divided by that of h (Cauchy-Schwarz): there it is taken.

    Examples
    --------
    >>> inflation(4.0, 4.0, 4.0, 1.0)
    1.0
    >>> round(inflation(3.0, 4.0, 6.0, 2.0), 3)  # sizes 2, 1, 1
    1.143
    """
    top, shares = largest / size, squares / (size * size)
    below = shares - top * top
    mean = (top * top * top + below * below / (1.0 - top)) / shares
    return (1.0 - 1.0 / n) / (1.0 - mean)
