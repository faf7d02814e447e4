"""Methods that learn from judgments: what a place in a run is worth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import ceil, log
from typing import Annotated

import polars as pl

from polars_rank.core.parameters import Doc, Range
from polars_rank.fusion.formulas.methods import method
from polars_rank.fusion.formulas.words import Candidate, Model

SEGMENTS = [0, *(10 * 2**k - 5 for k in range(10))]  # of segfuse: 0, 5, 15, 35 ...
BINS = [0, 5, 10, 15, 20, 30, 100, 200, 500, 1000]  # of bayesfuse
UNSEEN = log(0.001 / 0.999)


def looked_up(place: pl.Expr, values: Sequence[float]) -> pl.Expr:
    """Return the value of a place, which counts from 1; 0 beyond the last one."""
    places = [float(i) for i in range(1, len(values) + 1)]
    found = place.replace_strict(
        places, [*values], default=0.0, return_dtype=pl.Float64
    )
    return pl.when(place.is_not_null()).then(found)


def segment(rank: pl.Expr, bounds: Sequence[int]) -> pl.Expr:
    """Return the number of the segment, from 1, that the rank is in."""
    return pl.sum_horizontal((rank > bound).cast(pl.Int64) for bound in bounds).cast(
        pl.Float64
    )


@method("ranks", learns="ap")
def mapfuse(d: Candidate) -> pl.Expr:
    """Weigh reciprocal ranks by the mean average precision of the run: ``sum MAP / r``.

    Source: Lillis et al., SIGIR 2010. Equal to ranx's ``mapfuse``.
    """
    return d.sum(m.ap / r for m, r in zip(d.models, d.ranks, strict=True))


@method("ranks", learns="places")
def posfuse(d: Candidate) -> pl.Expr:
    """Add up the probabilities that a document at rank r of the run is relevant.

    ``sum P(r)``, the share of training lists of at least r documents that have a
    relevant one there; 0 for ranks that no such list has.

    Source: Lillis et al., SIGIR 2010. Equal to ranx's ``posfuse``.
    """
    return d.sum(
        looked_up(r, m.probabilities) for m, r in zip(d.models, d.ranks, strict=True)
    )


@method("ranks", learns="places")
def slidefuse(
    d: Candidate,
    *,
    w: Annotated[int, Range(least=0), Doc("places on either side of a rank")],
) -> pl.Expr:
    """Smooth the probabilities of places over a window that slides along the list.

    ``sum (P(a) + ... + P(b)) / (b - a + 1)`` with ``a = max(r - w, 1)`` and
    ``b = min(r + w, n)``.

    Source: Lillis et al., ECIR 2008. Equal to ranx's ``slidefuse``.
    """
    terms = []
    for m, r, n in zip(d.models, d.ranks, d.lengths, strict=True):
        up_to = [*accumulate(m.probabilities)]
        last = float(len(up_to))
        first, end = (r - w).clip(1), pl.min_horizontal(r + w, n)
        total = looked_up(end.clip(upper_bound=last), up_to)
        before = looked_up((first - 1).clip(upper_bound=last), up_to)
        mean = (total - before) / (end - first + 1)
        terms.append(pl.when(r.is_not_null()).then(mean))
    return d.sum(terms)


@method("ranks", learns="places")
def probfuse(
    d: Candidate,
    *,
    n_segments: Annotated[int, Range(least=1), Doc("segments of a list")],
) -> pl.Expr:
    """Divide the probability of the list's segment k by k: ``sum P(k) / k``.

    A list of n documents has segments of ``ceil(n / n_segments)``; P(k) is the mean
    share of relevant documents there over the training queries.

    Source: Lillis et al., SIGIR 2006. Equal to ranx's ``probfuse``.
    """
    terms = []
    for m, r, n in zip(d.models, d.ranks, d.lengths, strict=True):
        k = (r / (n / n_segments).ceil()).ceil()
        terms.append(looked_up(k, _shares(m, n_segments)) / k)
    return d.sum(terms)


def _shares(m: Model, segments: int) -> list[float]:
    """Mean share of relevant documents by segment; segments without any have 0."""
    shares = [0.0] * segments
    for length, rank, hits, _ in m.places:
        size = ceil(length / segments)
        k = ceil(rank / size)
        shares[k - 1] += hits / (min(k * size, length) - (k - 1) * size)
    return [share / m.queries for share in shares]


@method("scores", learns="places", of_both=True)
def segfuse(d: Candidate) -> pl.Expr:
    """Multiply scores by the probability of the segment: ``sum P(k) (s + 1)``.

    The segments end at ranks 5, 15, 35, 75 ... 5115; P(k) is the share of relevant
    documents there over the training queries, whose lists count as if they were full.

    Source: Shokouhi, ECIR 2007. Equal to ranx's ``segfuse``.
    """
    terms = []
    for m, r, s in zip(d.models, d.ranks, d.scores, strict=True):
        values = [m.share(a, b) for a, b in pairwise(SEGMENTS)]
        terms.append(looked_up(segment(r, SEGMENTS), values) * (s + 1))
    return d.sum(terms)


@method("ranks", learns="places")
def bayesfuse(d: Candidate) -> pl.Expr:
    """Add up log odds of being relevant, by bins of ranks: ``sum log(P / (1 - P))``.

    The bins end at ranks 5, 10, 15, 20, 30, 100, 200, 500 and 1000; P is the share of
    relevant documents there over the training queries, whose lists count as if they
    were full, or 0.001 instead of 0. Below rank 1000, and in runs that lack the
    document, P is 0.001.

    Source: Aslam and Montague, SIGIR 2001. Equal to ranx's ``bayesfuse``, whose table
    ends at rank 1000, for lists of up to 1000 documents.
    """
    terms = []
    for m, r in zip(d.models, d.ranks, strict=True):
        shares = [m.share(a, b) for a, b in pairwise(BINS)]
        odds = [log((p or 0.001) / ((1 - (p or 0.001)) or 0.001)) for p in shares]
        known = pl.when(r <= BINS[-1]).then(looked_up(segment(r, BINS), odds))
        terms.append(known.fill_null(UNSEEN))
    return d.sum(terms)
