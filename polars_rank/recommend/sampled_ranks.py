"""Measures of a whole catalogue from relevant items and sampled negatives."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behavior.cluster_states import hashed as stable_hash
from polars_rank.clicks.behavior.cluster_states import key_text
from polars_rank.core.state import (
    DEFINITION,
    DIGESTS,
    State,
    added_up,
    chosen,
    damaged,
    defined,
    digest,
    hashed,
    named,
)
from polars_rank.exceptions import DataError, DataWarning
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Measure
from polars_rank.recommend.rank_estimators import (
    Gain,
    Numbers,
    chances,
    em,
    least_squares,
    rank_grid,
)
from polars_rank.recommend.split_log import not_null, require_columns

Method: TypeAlias = Literal["em", "rank", "least_squares"]
METHODS = ("em", "rank", "least_squares")
GAINS: dict[str, Gain] = {
    "hits": np.ones_like,
    "recall": np.ones_like,
    "ndcg": lambda rank: 1 / np.log2(rank + 1),
    "rr": lambda rank: 1 / rank,
    "ap": lambda rank: 1 / rank,
}


@dataclass(frozen=True, eq=False)
class Sampled:
    """The result of :func:`sampled`; printing it shows its table.

    Attributes
    ----------
    values
        One row per measure: ``measure``; ``naive``, its mean among the sampled items;
        ``estimate`` of its mean over the catalogue, ``se``, ``lower``, ``upper``;
        ``n`` relevant items; ``negatives`` per relevant item, on average;
        ``min_negatives``, the fewest that tell the first k ranks apart from the rest.
    """

    values: pl.DataFrame

    def __str__(self) -> str:
        """Show the table."""
        return str(self.values)

    __repr__ = __str__


def sampled(
    log: FrameLike,
    measure: str | Sequence[str] = "hits@10",
    *,
    items: int,
    method: Method = "em",
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
    **options: Any,
) -> Sampled:
    """Estimate a measure over the whole catalogue from sampled negatives.

    The rank of a relevant item among m sampled items is far better than its rank r
    among all N: a measure of it (``naive``) is not that of the catalogue, and may put
    systems in another order. The number x of negatives above it is hypergeometric
    given r (binomial if drawn with replacement), which the estimators invert.

    Parameters
    ----------
    log
        One row per user and item: the relevant items and their sampled negatives.
        Several relevant items of a user are ranked one by one, among the negatives
        alone. A negative with the same score as a relevant item counts as above it.
    measure
        ``hits``, ``recall``, ``ndcg``, ``rr`` or ``ap``, with or without a cutoff, of
        each relevant item alone; or several.
    items
        Size N of the catalogue from which negatives were drawn: all items that are not
        relevant to the user, and the relevant item.
    method
        ``"em"``: distribution of ranks of the greatest likelihood, by 400 steps from
        the uniform one (Jin et al., 2021). ``"rank"``: rank 1 + (N - 1) x / m.
        ``"least_squares"``: least bias and variance under uniform ranks, with the
        variance weighed 0.01 (Krichene and Rendle, 2020).
    level, n_resamples, seed
        Interval: of ``"em"`` by a multinomial bootstrap of the counts of x, else
        normal. It covers the draw of users and negatives, not the bias of a method.
    options
        Those of :func:`sampled_state`.

    Raises
    ------
    ValueError
        For another measure or method.
    DataError
        For null or NaN, relevant items without negatives, or more negatives than items.

    Warns
    -----
    DataWarning
        If k < N / m: what happens within the first k ranks is not told by the data.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> log = pl.DataFrame(
    ...     {"user_id": [1, 1, 1], "label": [1, 0, 0], "score": [0.5, 0.9, 0.1]}
    ... )
    >>> recommend.sampled(log, "rr", items=3).values["naive"].item()
    0.5
    """
    state = sampled_state(log, items=items, **options)
    found = state.lazy().collect(engine="streaming")
    return merge_sampled(
        found, measure, method=method, level=level, n_resamples=n_resamples, seed=seed
    )


def sampled_state(
    log: FrameLike,
    *,
    items: int,
    user: str = "user_id",
    item: str = "item_id",
    label: str = "label",
    score: str = "score",
    probability: str | None = None,
    min_probability: float | None = None,
    replacement: bool = False,
    part: str | None = None,
    seed: int = 0,
) -> pl.DataFrame | pl.LazyFrame:
    """Count negatives above relevant items: all that any measure and cutoff needs.

    Parameters
    ----------
    log, items
        As in :func:`sampled`.
    user, item, label, score
        Columns; labels above 0 are relevant. The item is used with ``probability``.
    probability
        Probability of the negative in one draw, for draws in proportion to popularity,
        with replacement. Each draw is kept with probability ``min_probability`` /
        ``probability``, by hash of seed, user, item and row: what is kept was drawn
        uniformly. Without it, negatives are taken to be uniform.
    min_probability
        Smallest probability of any item of the catalogue.
    replacement
        Whether negatives were drawn with replacement.
    part
        Name of the part, such as its day. A user must lie in one part.
    seed
        Seed of the hash.

    Returns
    -------
    A row per number of negatives, which :func:`merge_sampled` adds up: ``measure``,
    ``negatives``, ``counts`` (of 0, 1 ... negatives above), ``definition``,
    ``digests``. Lazy for a LazyFrame or a file.

    Raises
    ------
    ValueError
        For ``probability`` without ``min_probability``.
    """
    if (probability is None) != (min_probability is None):
        msg = "probability and min_probability, that of the rarest item, go together"
        raise ValueError(msg)
    frame = as_polars(log, name="log")
    rows = frame.lazy()
    schema = rows.collect_schema()
    drawn = () if probability is None else (item, probability)
    require_columns(schema, (user, label, score, *drawn), "log")
    rows = rows.with_columns(not_null(c) for c in (user, label, score, *drawn))
    relevant = rows.filter(pl.col(label) > 0).select(
        user=user, score=_number(score), relevant=pl.int_range(pl.len())
    )
    others = rows.filter(pl.col(label) <= 0)
    kept: pl.Expr = pl.lit(1)
    if probability is not None:
        replacement = True
        number = "polars_rank.row"
        keys = [key_text(name, schema[name]) for name in (user, item)]
        place = pl.int_range(pl.len()).over(user, item).cast(pl.String).alias(number)
        others = others.with_columns(place)
        draw = stable_hash([pl.lit(str(seed)), *keys, pl.col(number)])
        kept = (draw / 2.0**64 < pl.lit(min_probability) / pl.col(probability)).cast(
            pl.Int32
        )
    others = others.select(user=user, other=_number(score), kept=kept)
    above = (pl.col("other") >= pl.col("score")) & (pl.col("kept") == 1)
    counted = (
        relevant.join(others, on="user", how="left")
        .group_by("user", "relevant")
        .agg(
            above=above.sum().cast(pl.Int64),
            negatives=pl.col("kept").sum().cast(pl.Int64),
            drawn=pl.col("kept").count(),
        )
        .with_columns(
            pl.col("negatives").map_batches(_possible(items, replacement)),
            pl.col("drawn").map_batches(_some),
        )
    )
    choices = {"measure": "rank", "items": items, "replacement": replacement}
    choices |= {"min_probability": min_probability, "seed": seed}
    state = (
        counted.filter(pl.col("drawn") > 0)
        .with_columns(content=hashed(["user", "above", "negatives"]))
        .group_by("negatives", "above")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("content").sum())
        .sort("negatives", "above")
        .group_by("negatives", maintain_order=True)
        .agg("above", pl.col("n").alias("counts"), digest([], "content", part))
        .select(
            pl.format("rank among {}", "negatives").alias("measure"),
            "negatives",
            "above",
            "counts",
            pl.lit(defined("sampled", choices)).alias(DEFINITION),
            DIGESTS,
        )
    )
    return state.collect() if isinstance(frame, pl.DataFrame) else state


def _number(name: str) -> pl.Expr:
    def passed(values: pl.Series) -> pl.Series:
        if count := int(values.is_nan().sum() or 0):
            msg = f"{name!r} is NaN in {count} rows: fix the scores first"
            raise DataError(msg, rule="nan_score", count=count)
        return values

    return pl.col(name).cast(pl.Float64).map_batches(passed, is_elementwise=True)


def _possible(items: int, replacement: bool) -> Any:
    def passed(values: pl.Series) -> pl.Series:
        if not replacement and (count := int((values > items - 1).sum())):
            msg = (
                f"{count} relevant items have more than {items - 1} negatives, of "
                f"items={items}: give the size of the catalogue, or replacement=True"
            )
            raise DataError(msg, rule="too_many_negatives", count=count)
        return values

    return passed


def _some(values: pl.Series) -> pl.Series:
    if count := int((values == 0).sum()):
        msg = f"{count} relevant items have no negatives: drop these users, or add them"
        raise DataError(msg, rule="no_negatives", count=count)
    return values


def merge_sampled(
    parts: FrameLike | Iterable[FrameLike],
    measure: str | Sequence[str] = "hits@10",
    *,
    method: Method = "em",
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
) -> Sampled:
    """Merge the states of parts into the measures of the whole.

    Parameters
    ----------
    parts
        Results of :func:`sampled_state` of the same catalogue.
    measure, method, level, n_resamples, seed
        As in :func:`sampled`.

    Raises
    ------
    DataError
        If a part is no state, is there twice, or is of another catalogue.
    """
    require_level(level)
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, not {method!r}"
        raise ValueError(msg)
    texts = [measure] if isinstance(measure, str) else [*measure]
    gains = [(text, *_gain(text)) for text in texts]
    given = (
        [parts] if isinstance(parts, pl.DataFrame | pl.LazyFrame | str) else [*parts]
    )
    frames = [as_polars(p, name="parts").lazy().collect() for p in given]
    names = named([None] * len(frames), "state")
    states = [State(n, f) for n, f in zip(names, frames, strict=True)]
    columns = {
        "measure": "text",
        "negatives": "number",
        "above": "any",
        "counts": "any",
    }
    whole = added_up(states, "sampled", columns, _require_possible)  # type: ignore[arg-type]
    about = whole[DEFINITION][0]
    items, replacement = int(chosen(about, "items")), bool(chosen(about, "replacement"))  # type: ignore[call-overload]
    cells = (
        whole.explode("above", "counts")
        .group_by("negatives", "above")
        .agg(pl.col("counts").sum())
        .sort("negatives", "above")
    )
    m, x, counts = (cells[c].to_numpy().astype(float) for c in cells.columns)
    size = counts.sum()
    mean = float(m @ counts / size)
    ranks, start = rank_grid(items)
    table = np.hstack(
        [
            chances(ranks, items, int(one), x[m == one], replacement=replacement)
            for one in np.unique(m)
        ]
    )
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(int(size), counts / size, n_resamples).astype(float)
    found = em(table, np.vstack([counts, drawn]), start) if method == "em" else None
    rows = []
    for text, gain, k in gains:
        naive = float(gain(x + 1) @ counts / size)
        if found is not None:
            each = found @ gain(ranks)
            value, se = float(each[0]), float(each[1:].std(ddof=1))
            tails = (1 - level) / 2, (1 + level) / 2
            lower, upper = map(float, np.quantile(each[1:], tails))
        else:
            of = _per_count(method, gain, (m, x), items, (ranks, start), replacement)
            value = float(of @ counts / size)
            se = float(np.sqrt((of - value) ** 2 @ counts / size / max(size - 1, 1)))
            z = 1.959963984540054 if level == 0.95 else _normal(level)
            lower, upper = value - z * se, value + z * se
        least = ceil(items / k) if k else items - 1
        if mean < least and k:
            msg = (
                f"{text}: {mean:.0f} negatives of {items:,} items cannot tell the "
                f"first {k} ranks from the next; draw at least {least:,}"
            )
            warnings.warn(msg, DataWarning, stacklevel=2)
        rows.append((text, naive, value, se, lower, upper, int(size), mean, least))
    schema = ["measure", "naive", "estimate", "se", "lower", "upper", "n"]
    schema += ["negatives", "min_negatives"]
    return Sampled(pl.DataFrame(rows, schema, orient="row"))


def _normal(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def _per_count(
    method: str,
    gain: Gain,
    cells: tuple[Numbers, Numbers],
    items: int,
    grid: tuple[Numbers, Numbers],
    replacement: bool,
) -> Numbers:
    """Return what each count above is worth."""
    m, x = cells
    if method == "rank":
        return gain(1 + np.floor((items - 1) * x / np.maximum(m, 1)))
    of = np.zeros_like(x)
    for one in np.unique(m):
        all_x = np.arange(one + 1)
        table = chances(grid[0], items, int(one), all_x, replacement=replacement)
        own = m == one
        of[own] = least_squares(table, gain(grid[0]), grid[1])[x[own].astype(int)]
    return of


def _gain(text: str) -> tuple[Gain, int | None]:
    """Read a measure of one relevant item as a function of its rank."""
    parsed = Measure.parse(text)
    k = dict(parsed.params).get("k")
    if parsed.metric not in GAINS or {name for name, _ in parsed.params} - {"k"}:
        known = ", ".join(GAINS)
        msg = f"measure must be one of {known}, with or without @k, not {text!r}"
        raise ValueError(msg)
    whole = GAINS[parsed.metric]
    return (lambda r: np.where(r <= (k or np.inf), whole(r), 0.0)), k


def _require_possible(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse counts that nobody can have counted."""
    del states
    cells = whole.explode("above", "counts")
    wrong = (pl.col("above") > pl.col("negatives")) | (pl.col("above") < 0)
    if cells.filter(wrong | (pl.col("counts") < 1)).height:
        raise damaged("a state", "has counts that cannot be: make it anew")
