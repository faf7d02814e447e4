"""Slices of queries, found by a search, whose mean differs from that of the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank._statistics.intervals import interval, p_value, require_level
from polars_rank.comparison.input.procedures import names_of
from polars_rank.comparison.input.values import Source, lazy
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.core.expr import ratio
from polars_rank.core.parameters import is_whole
from polars_rank.exceptions import DataError

N, MEAN, SQUARES, HALF = "queries", "mean", "squares", "half"
DIFFERENT, UNNAMED = "different", "unnamed"  # ids up to here; rows without one
NOTHING = 1e-12
SEARCH, CHECK = 0, 1  # the half that is searched, and the half that tests


def slices(
    values: Source,
    features: str | Sequence[str],
    *,
    of: str = "difference",
    query: str | Sequence[str] = "query_id",
    max_features: int = 2,
    bins: int = 4,
    min_queries: int = 20,
    max_slices: int = 20,
    honest: bool = True,
    level: float = 0.95,
) -> pl.DataFrame:
    """Find the slices of queries whose mean is far from that of the other queries.

    A slice is a conjunction of values of features, such as ``country=DE,
    words=(2.0, 4.0]``.

    Parameters
    ----------
    values
        One row per query, with ``of`` and the features: a frame or a file, such as
        ``.queries`` of :func:`reasons` joined with attributes of queries.
    features
        Columns that make up slices. Numbers with more values than ``bins`` are cut at
        their quantiles.
    of
        Column whose mean is compared: a difference, or a measure.
    query
        Columns that name the query: their order splits the queries into halves.
    max_features
        How many features a slice combines, at most 3.
    bins
        Number of bins of a number.
    min_queries
        Slices with fewer queries are not tried; in halves, with fewer in either.
    max_slices
        The largest number of slices that are tested and returned.
    honest
        Whether slices are searched in one half of the queries and tested in the other.
        Otherwise the same queries do both, and p-values and intervals promise too much.
    level
        Confidence level of the intervals; adjusted p-values below 1 - level are
        significant.

    Returns
    -------
    A row per slice, the largest ``impact`` of the search first: ``slice``; ``queries``,
    of all; ``mean`` and ``gap``, the mean of the slice less that of the other queries,
    with ``lower`` and ``upper``; ``impact``, the share of the slice times the gap;
    ``p_value``, ``p_adjusted`` and ``significant``. With ``honest`` all but ``slice``
    and ``queries`` are those of the second half.

    Raises
    ------
    ValueError, polars.exceptions.ColumnNotFoundError
        For wrong arguments.
    DataError
        For values that are NaN or infinite, and queries without an id or with several
        rows.

    Notes
    -----
    Queries without a value are left out. The tests are Welch's; p-values are adjusted
    for the slices that are returned (Benjamini and Hochberg, 1995). Slices are searched
    among those that differ at the level, and of several features only those that differ
    from the rest of each slice with one feature less, too: a slice is not listed for
    the gap of another that holds it. The queries are halved by turns in the order of
    their ids, which does not depend on the order of rows.

    All slices are sums over a table with the number, mean and squares of each
    combination of features, which one pass over the values makes.

    Source: Welch, Biometrika 1947; Chung et al., ICDE 2019 (Slice Finder).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import analysis
    >>> values = pl.DataFrame({"query_id": range(400)}).with_columns(
    ...     country=pl.when(pl.col("query_id") % 7 < 2).then(pl.lit("DE"))
    ...     .otherwise(pl.lit("US")),
    ...     difference=pl.col("query_id") % 3 / 10
    ...     - pl.when(pl.col("query_id") % 7 < 2).then(0.2).otherwise(0.0),
    ... )
    >>> found = analysis.slices(values, "country")
    >>> found.select("slice", "queries", pl.col("gap").round(2)).rows()
    [('country=US', 285, 0.2), ('country=DE', 115, -0.2)]
    """
    require_level(level)
    names, keys = names_of(features), names_of(query)
    _require_counts(max_features, bins, min_queries, max_slices, names)
    frame = lazy(values)
    schema = frame.collect_schema()
    require_columns(names, schema, where="the values", argument="features")
    require_columns([of], schema, where="the values", argument="of")
    require_columns(keys, schema, where="the values", argument="query")
    known = frame.filter(pl.col(of).is_not_null())
    cube = _cube(known, names, of, keys, bins, honest=honest)
    _require_row_per_query(cube, known, keys)
    if not cube[SQUARES].is_finite().all():
        msg = f"{of!r} is NaN or infinite in some rows; an undefined value is null"
        raise DataError(msg, rule="nan_value", count=None)
    found = _summed(cube, names, max_features)
    searched = _against_others(found.filter(pl.col(HALF) == SEARCH), level)
    enough = found.group_by("slice").agg(
        pl.col(N).min().alias("fewest"), pl.len().alias("halves"), pl.col(N).sum()
    )
    halves = 2 if honest else 1
    enough = enough.filter(
        pl.col("fewest") >= min_queries, pl.col("halves") == halves
    ).drop("fewest", "halves")
    searched = searched.join(enough.select("slice"), on="slice", how="semi")
    chosen = _distinct(searched, 1.0 - level)
    # The impacts of a slice and its complement can differ in the last digits alone.
    size = pl.col("impact").abs().round_sig_figs(9)
    chosen = chosen.sort(-size, "slice").head(max_slices)
    tested = _against_others(
        found.filter(pl.col(HALF) == (CHECK if honest else SEARCH)), level
    )
    result = chosen.select("slice").join(
        tested.drop(N), on="slice", maintain_order="left"
    )
    result = result.join(enough, on="slice", how="left", maintain_order="left")
    p = result["p_value"].fill_null(float("nan")).to_numpy()
    return result.with_columns(
        p_adjusted=pl.Series(adjusted(p, "bh"), dtype=pl.Float64).fill_nan(None)
    ).select(
        "slice",
        pl.col(N).cast(pl.UInt32),
        "mean",
        "gap",
        "lower",
        "upper",
        "impact",
        "p_value",
        "p_adjusted",
        significant=pl.col("p_adjusted") < 1.0 - level,
    )


def _require_counts(
    max_features: int, bins: int, min_queries: int, max_slices: int, names: list[str]
) -> None:
    for name, value, least, most in (
        ("max_features", max_features, 1, 3),
        ("bins", bins, 2, None),
        ("min_queries", min_queries, 2, None),
        ("max_slices", max_slices, 1, None),
    ):
        within = is_whole(value) and value >= least and (most is None or value <= most)
        if not within:
            rule = f"at least {least}" + ("" if most is None else f", at most {most}")
            msg = f"{name} must be a whole number, {rule}, not {value!r}"
            raise ValueError(msg)
    if not names or len({*names}) < len(names):
        msg = "features must name one or more columns, each once"
        raise ValueError(msg)


def _cube(
    values: pl.LazyFrame,
    names: Sequence[str],
    of: str,
    keys: Sequence[str],
    bins: int,
    *,
    honest: bool,
) -> pl.DataFrame:
    """Return number, mean and squares of each combination of features, by half."""
    schema = values.collect_schema()
    own = {f"f{i}": name for i, name in enumerate(names)}
    numbers = [name for name in names if schema[name].is_numeric()]
    edges: dict[str, list[float]] = {}
    if numbers:
        cuts = [i / bins for i in range(1, bins)]
        row = (
            values.select(
                *(pl.col(n).n_unique().alias(f"{n} n") for n in numbers),
                *(
                    pl.col(n).cast(pl.Float64).quantile(cut).alias(f"{n} {i}")
                    for n in numbers
                    for i, cut in enumerate(cuts)
                ),
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )
        for name in numbers:
            if row[f"{name} n"] > bins:
                found = [row[f"{name} {i}"] for i in range(len(cuts))]
                edges[name] = sorted(
                    {float(f"{e:.4g}") for e in found if e is not None}
                )
    named = {
        f: pl.format(
            "{}={}", pl.lit(name), _text(name, edges.get(name)).fill_null("null")
        )
        for f, name in own.items()
    }
    key = pl.struct(keys) if len(keys) > 1 else pl.col(keys[0])
    order = pl.when(pl.all_horizontal(pl.col(keys).is_not_null())).then(
        key.rank("dense")
    )
    half = (order % 2).cast(pl.Int8) if honest else pl.lit(SEARCH, dtype=pl.Int8)
    value = pl.col(of).cast(pl.Float64)
    rows = values.select(
        half.alias(HALF), value.alias("value"), order.alias("order"), **named
    )
    return (
        rows.group_by(HALF, *own)
        .agg(
            pl.len().cast(pl.Int64).alias(N),
            pl.col("value").mean().alias(MEAN),
            ((pl.col("value") - pl.col("value").mean()) ** 2).sum().alias(SQUARES),
            pl.col("order").max().alias(DIFFERENT),
            pl.col("order").null_count().alias(UNNAMED),
        )
        .sort(HALF, *own)
        .collect(engine="streaming")
    )


def _require_row_per_query(
    cube: pl.DataFrame, values: pl.LazyFrame, keys: Sequence[str]
) -> None:
    """Refuse queries with several rows: they would count as so many observations."""
    if cube[UNNAMED].sum():
        msg = f"{' or '.join(map(repr, keys))} is null in some rows; name every query"
        raise DataError(msg, rule="null_query", count=int(cube[UNNAMED].sum()))
    rows, different = (int(cube[N].sum()), int(cube[DIFFERENT].max() or 0))  # type: ignore[arg-type]
    if rows == different:
        return
    again = values.group_by(keys).len().filter(pl.col("len") > 1).sort(keys).head(1)
    example = again.collect(engine="streaming").row(0)[:-1]
    msg = (
        f"{rows} values are of {different} queries, e.g. several of query "
        f"{', '.join(map(repr, example))}; give one row per query: filter the system "
        "and the measure, or name all columns of a query with query="
    )
    raise DataError(msg, rule="several_rows_per_query", examples=[example])


def _text(name: str, edges: Sequence[float] | None) -> pl.Expr:
    """Return the value of a feature as text: of a number that is cut, its interval."""
    column = pl.col(name)
    if not edges:
        return column.cast(pl.String)
    ends = ["-inf", *(f"{edge:g}" for edge in edges), "inf"]
    shown = [f"({low}, {high}]" for low, high in pairwise(ends)]
    shown[-1] = f"({ends[-2]}, inf)"
    place = pl.sum_horizontal((column > edge).cast(pl.Int64) for edge in edges)
    found = place.replace_strict([*range(len(shown))], shown, return_dtype=pl.String)
    return pl.when(column.is_not_null()).then(found)


def _summed(cube: pl.DataFrame, names: Sequence[str], most: int) -> pl.DataFrame:
    """Return each slice of up to ``most`` features, by half, and what holds it."""
    own = [f"f{i}" for i in range(len(names))]
    total = (
        cube.group_by(HALF)
        .agg(**_added())
        .rename({N: "all_n", MEAN: "all_mean", SQUARES: "all_squares"})
    )
    parts = []
    for size in range(1, most + 1):
        for chosen in combinations(own, size):
            wider = [c for c in combinations(chosen, size - 1) if c]
            parts.append(
                cube.group_by(HALF, *chosen)
                .agg(**_added())
                .with_columns(
                    slice=pl.concat_str(chosen, separator=", "),
                    parents=pl.concat_list(
                        [pl.concat_str(c, separator=", ") for c in wider]
                    )
                    if wider
                    else pl.lit([], dtype=pl.List(pl.String)),
                )
                .drop(chosen)
            )
    return pl.concat(parts).join(total, on=HALF)


def _added() -> dict[str, pl.Expr]:
    """Add up cells: squares are moved to the mean of all (Chan et al., 1979)."""
    n, m = pl.col(N).cast(pl.Float64), pl.col(MEAN)
    mean = (n * m).sum() / n.sum()
    return {
        N: pl.col(N).sum(),
        MEAN: mean,
        SQUARES: (pl.col(SQUARES) + n * (m - mean) ** 2).sum(),
    }


def _without(whole: str) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Return number, mean and squares of the rest of a whole that holds the slice."""
    n, m, s = (pl.col(name).cast(pl.Float64) for name in (N, MEAN, SQUARES))
    n_all, m_all, s_all = (
        pl.col(f"{whole}_{name}").cast(pl.Float64) for name in ("n", "mean", "squares")
    )
    rest = n_all - n
    mean = ratio(n_all * m_all - n * m, rest)
    moved = n * (m - m_all) ** 2 + rest * (mean - m_all) ** 2
    return rest, mean, (s_all - s - moved).clip(lower_bound=0.0)


def _welch(whole: str) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Return the gap to the rest of a whole, its error and degrees of freedom."""
    n, m, s = (pl.col(name).cast(pl.Float64) for name in (N, MEAN, SQUARES))
    rest, mean, squares = _without(whole)
    a, b = ratio(s, n * (n - 1.0)), ratio(squares, rest * (rest - 1.0))
    df = ratio((a + b) ** 2, a**2 / (n - 1.0) + b**2 / (rest - 1.0))
    known = (n > 1) & (rest > 1)
    return tuple(pl.when(known).then(e) for e in (m - mean, (a + b).sqrt(), df))  # type: ignore[return-value]


def _against_others(found: pl.DataFrame, level: float) -> pl.DataFrame:
    """Add the gap of each slice to all other queries, with interval and p-value."""
    gap, error, df = _welch("all")
    found = found.with_columns(gap=gap, error=error, df=df)
    gap, error, df = (pl.col(name) for name in ("gap", "error", "df"))
    lower, upper = interval(gap, error, df, level=level)
    share = pl.col(N) / pl.col("all_n")
    return found.with_columns(
        lower=lower,
        upper=upper,
        impact=share * gap,
        p_value=_p(gap, error, df),
    )


def _p(gap: pl.Expr, error: pl.Expr, df: pl.Expr) -> pl.Expr:
    """Return the p-value of a gap; without any spread it is certain, or none."""
    certain = pl.when(gap.abs() > NOTHING).then(0.0).otherwise(1.0)
    found = p_value(ratio(gap, error), df)
    return pl.when(error == 0).then(certain).otherwise(found)


def _distinct(searched: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Keep slices that differ from all others, and from the rest of what holds them."""
    whole = searched.select(
        pl.col("slice").alias("parents"),
        parent_n=N,
        parent_mean=MEAN,
        parent_squares=SQUARES,
    )
    nested = searched.explode("parents", empty_as_null=True).join(
        whole, on="parents", how="left"
    )
    gap, error, df = _welch("parent")
    nested = nested.with_columns(nested_gap=gap, nested_error=error, nested_df=df)
    numbers = (pl.col(f"nested_{name}") for name in ("gap", "error", "df"))
    differs = _p(*numbers) < alpha
    alone = pl.col("parents").is_null()
    kept = nested.group_by("slice").agg(
        (alone | differs.fill_null(value=False)).all().alias("kept")
    )
    kept = kept.filter("kept")
    different = searched.filter(pl.col("p_value") < alpha)
    return different.join(kept, on="slice", how="semi")
