"""Standardized values, which can be compared across queries and collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_rank._engine.checks.enforce import PASSES, passed
from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import require_columns
from polars_rank._statistics.distributions import special
from polars_rank.comparison.input.alignment import require_finite_rows
from polars_rank.comparison.input.procedures import (
    measures_of,
    names_of,
    require_choice,
)
from polars_rank.comparison.input.values import ROUNDING
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.io.same_columns import concatenated

Standard: TypeAlias = Literal["z", "phi", "ab", "cdf"]


@frame_function
def standardize(
    values: FrameLike,
    measures: str | Sequence[str] | None = None,
    *,
    reference: FrameLike | Sequence[str] | None = None,
    how: Standard = "phi",
    a: float = 0.15,
    b: float = 0.5,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
) -> AnyFrame:
    """Standardize values per query: hard and easy queries count alike.

    ``z = (x - mean) / sd`` with mean and standard deviation (divisor n - 1) of the
    query over the reference systems; 0 where they do not differ.

    Parameters
    ----------
    values
        One row per system and query, as for :func:`compare`.
    reference
        Systems that set mean and deviation: names; or a frame like ``values`` of other
        systems for the same queries; default: all of ``values``.
    how
        ``"z"``; ``"phi"``: the normal distribution function of z (Webber 2008);
        ``"ab"``: a z + b, cut to 0 ... 1 (Sakai); ``"cdf"``: share of reference values
        that are not larger (Urbano 2019).
    a, b
        Scale and shift of ``"ab"``.
    measures, system, query
        As in :func:`compare`.

    Returns
    -------
    ``values`` with standardized measures, in the same order; null where a query has no
    reference.

    Raises
    ------
    DataError
        If a value is NaN or infinite.

    Source: Webber, Moffat and Zobel, SIGIR 2008; Sakai, ICTIR 2016; Urbano, Lima and
    Hanjalic, SIGIR 2019.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a", "b", "c"], "query_id": [1, 1, 1], "ap": [0.1, 0.2, 0.6]}
    ... )
    >>> pr.comparison.standardize(values, how="cdf")["ap"].round(2).to_list()
    [0.33, 0.67, 1.0]
    """
    require_choice("how", how, Standard)
    frame: pl.LazyFrame = as_polars(values, name="values").lazy()
    keys: list[str] = names_of(query)
    schema = frame.collect_schema()
    require_columns([system, *keys], schema, where="the values")
    if measures is None:
        names: list[str] = [
            n for n, t in schema.items() if t.is_float() and n not in keys
        ]
    else:
        names = measures_of(measures, schema)
        require_columns(names, schema, where="the values", argument="measures")
    rows = frame.with_row_index("_row").with_columns(pl.col(names).cast(pl.Float64))
    known = rows.with_columns(_known=pl.lit(value=True))
    systems = _names(reference)
    if reference is not None and systems is None:
        own = as_polars(reference, name="reference").lazy()  # type: ignore[arg-type]
        require_columns([*keys, *names], own.collect_schema(), where="reference")
        others = own.select(*keys, pl.col(names).cast(pl.Float64))
        known = concatenated(
            {
                "the values": rows.with_columns(_known=pl.lit(value=False)),
                "reference": others.with_columns(_known=pl.lit(value=True)),
            },
            "diagonal_relaxed",
        )
    elif systems is not None:
        known = rows.with_columns(_known=pl.col(system).cast(pl.String).is_in(systems))
    known = passed(known, [*keys, *names], _finite(keys, names), at_once=True)
    if how == "cdf":
        plan = _distribution(known, keys, names)
    else:
        plan = known.with_columns(_scaled(name, keys, how, a, b) for name in names)
    result = plan.filter(pl.col("_row").is_not_null()).sort("_row").select(list(schema))
    return like_input(values, result)


def _names(reference: object) -> list[str] | None:
    """Return the names of systems that these are; None if they are rows."""
    if isinstance(reference, str):
        return [reference]
    if isinstance(reference, list | tuple):
        names = [name for name in reference if isinstance(name, str)]
        return names if len(names) == len(reference) else None
    return None


def _finite(
    keys: Sequence[str], names: Sequence[str]
) -> Callable[[Sequence[pl.Series]], pl.Series]:
    own = [f"key{i}" for i in range(len(keys))] + [f"v{k}" for k in range(len(names))]

    def passes(series: Sequence[pl.Series]) -> pl.Series:
        held = pl.DataFrame([s.alias(n) for s, n in zip(series, own, strict=True)])
        require_finite_rows(held, names)
        return PASSES

    return passes


def _scaled(
    name: str, keys: Sequence[str], how: Standard, a: float, b: float
) -> pl.Expr:
    x = pl.col(name)
    held = pl.when(pl.col("_known")).then(x)
    mean, sd = held.mean().over(keys), held.std().over(keys).fill_null(0.0)
    rounding = ROUNDING * held.abs().max().over(keys)
    z = pl.when(sd > rounding).then((x - mean) / sd).otherwise(0.0)
    z = pl.when(mean.is_not_null() & x.is_not_null()).then(z)
    if how == "ab":
        return (a * z + b).clip(0.0, 1.0).alias(name)
    if how == "phi":
        ndtr = special().ndtr
        return z.map_batches(
            lambda s: pl.Series(s.name, ndtr(s.to_numpy())).fill_nan(None),
            return_dtype=pl.Float64,
            is_elementwise=True,
        ).alias(name)
    return z.alias(name)


def _distribution(
    known: pl.LazyFrame, keys: Sequence[str], names: Sequence[str]
) -> pl.LazyFrame:
    """Compute the share of the reference values of the query that are not larger."""
    counted = pl.col("_known").cast(pl.Int64)
    steps = [
        pl.when(pl.col(n).is_not_null())
        .then(counted)
        .otherwise(0)
        .cum_sum()
        .over(keys, order_by=n)
        .alias(f"_{n}")
        for n in names
    ]
    shares = [
        pl.when(pl.col(n).is_not_null())
        .then(
            pl.col(f"_{n}").max().over([*keys, n])
            / pl.when(pl.col("_known") & pl.col(n).is_not_null())
            .then(1)
            .sum()
            .over(keys)
        )
        .fill_nan(None)
        .alias(n)
        for n in names
    ]
    return known.with_columns(steps).with_columns(shares)
