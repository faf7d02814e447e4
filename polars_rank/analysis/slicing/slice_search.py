"""Slices of queries, found by a search, whose mean is far from that of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import polars as pl

from polars_rank._statistics.intervals import interval, p_value, require_level
from polars_rank.analysis.slicing.slice_cube import (
    CHECK,
    HALF,
    SEARCH,
    STATE,
    SUMS,
    TYPES,
    Asked,
    Cube,
    added,
    require_free,
    require_possible,
)
from polars_rank.comparison.input.values import Source
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.core.exact.state import added_up
from polars_rank.core.expr import ratio
from polars_rank.core.parameters import is_whole
from polars_rank.io.states import read_states

NOTHING = 1e-12


def slices(
    values: Source,
    features: str | Sequence[str],
    *,
    of: str = "difference",
    query: str | Sequence[str] = "query_id",
    max_features: int = 2,
    n_bins: int = 4,
    edges: Mapping[str, Sequence[float]] | None = None,
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
        Columns that make up slices. Numbers with more values than ``n_bins`` are cut at
        their quantiles.
    of
        Column whose mean is compared: a difference, or a measure.
    query
        Columns that name the query: their hash splits the queries into halves.
    max_features
        How many features a slice combines, at most 3.
    n_bins
        Number of bins of a number.
    edges
        Where numbers are cut, by feature, instead: ``{"words": [2, 4]}`` has slices up
        to 2, up to 4 and above.
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
    the gap of another that holds it. A query is in one half or the other by a hash of
    its id that never changes, so that it is in the same half on whatever day.

    All slices are sums over a table with the number of queries of each combination of
    features, the sums of their values and of the squares of these, which one pass over
    the values makes, after one that counts the queries and cuts numbers. The sums are
    exact, and add up over days: see :func:`slices_state` and :func:`merge_slices`.

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
    _require_counts(level, max_features, min_queries, max_slices)
    asked = Asked.of_rows(values, features, of, query, n_bins, edges)
    return _searched(
        asked.cube(),
        max_features=max_features,
        min_queries=min_queries,
        max_slices=max_slices,
        honest=honest,
        level=level,
    )


def slices_state(
    values: Source,
    features: str | Sequence[str],
    *,
    of: str = "difference",
    query: str | Sequence[str] = "query_id",
    n_bins: int = 4,
    edges: Mapping[str, Sequence[float]] | None = None,
    part: str | None = None,
) -> pl.DataFrame:
    """Sum up what a day, a file or a partition of values adds to :func:`slices`.

    The sums serve any search: how many features, how many queries, halves or not.

    Parameters
    ----------
    values, features, of, query
        As in :func:`slices`. Where the same queries come back in other parts, name them
        by what comes back, without the day: a query is then in the same half
        everywhere.
    n_bins, edges
        As in :func:`slices`. All parts need the same ``edges``, so give those of each
        number with more values than ``n_bins``.
    part
        Name of the part, such as its day. Two parts of the same content are one part,
        which :func:`merge_slices` refuses to count twice, unless they have two names.

    Returns
    -------
    One row for each ``half`` of the queries and combination of features: its features,
    as text; ``measure``, what is compared; ``n``, the number of queries, with the exact
    sums of their values and of the squares of these; ``definition``, all that can
    change a sum; and ``digests``, eight bytes as text, of the content. To be kept in
    Parquet or Arrow files.

    Raises
    ------
    ValueError, polars.exceptions.ColumnNotFoundError
        For wrong arguments.
    DataError
        As :func:`slices`.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import analysis
    >>> monday = pl.DataFrame({"query_id": ["a", "b"], "land": ["de", "fr"]})
    >>> monday = monday.with_columns(difference=pl.Series([0.5, -0.25]))
    >>> state = analysis.slices_state(monday, "land")
    >>> state.select("land", "n", "x_plain").sort("land").rows()
    [('de', 1, 0.5), ('fr', 1, -0.25)]
    """
    asked = Asked.of_rows(values, features, of, query, n_bins, edges)
    require_free(asked.features)
    return asked.cube().state(of, part)


def merge_slices(
    parts: Source | Iterable[Source],
    *,
    max_features: int = 2,
    min_queries: int = 20,
    max_slices: int = 20,
    honest: bool = True,
    level: float = 0.95,
) -> pl.DataFrame:
    """Search the slices of all parts together, such as days.

    Parameters
    ----------
    parts
        Results of :func:`slices_state`, of the same features and edges: frames of any
        library, or paths.
    max_features, min_queries, max_slices, honest, level
        As in :func:`slices`.

    Returns
    -------
    What :func:`slices` of all rows together returns, to the last bit, if queries are
    named so that none comes twice. The queries of each part count as new ones.

    Raises
    ------
    ValueError
        For wrong arguments, and if there is nothing to merge.
    DataError
        If a part is no state, or damaged; if the same part is there twice, by the
        digest of its content; if parts differ in their definition, such as the edges of
        a number, or in their features. It names the file, and what differs.

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
    >>> days = [values.head(100), values.tail(300)]
    >>> states = [analysis.slices_state(day, "country") for day in days]
    >>> found = analysis.merge_slices(states)
    >>> found.equals(analysis.slices(values, "country"))
    True
    """
    _require_counts(level, max_features, min_queries, max_slices)
    whole = added_up(read_states(parts, "state"), "slices", TYPES, require_possible)
    return _searched(
        Cube.of_states(whole),
        max_features=max_features,
        min_queries=min_queries,
        max_slices=max_slices,
        honest=honest,
        level=level,
    )


def _searched(
    cube: Cube,
    *,
    max_features: int,
    min_queries: int,
    max_slices: int,
    honest: bool,
    level: float,
) -> pl.DataFrame:
    """Search the slices of one half, and test them in the other."""
    found = _summed(cube if honest else cube.in_one(), max_features)
    searched = _against_others(found.filter(pl.col(HALF) == SEARCH), level)
    enough = found.group_by("slice").agg(
        pl.col("n").min().alias("fewest"),
        pl.len().alias("halves"),
        pl.col("n").sum().alias("queries"),
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
    result = chosen.select("slice").join(tested, on="slice", maintain_order="left")
    result = result.join(enough, on="slice", how="left", maintain_order="left")
    p = result["p_value"].fill_null(float("nan")).to_numpy()
    return result.with_columns(
        p_adjusted=pl.Series(adjusted(p, "bh"), dtype=pl.Float64).fill_nan(None)
    ).select(
        "slice",
        pl.col("queries").cast(pl.UInt32),
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
    level: float, max_features: int, min_queries: int, max_slices: int
) -> None:
    require_level(level)
    for name, value, least, most in (
        ("max_features", max_features, 1, 3),
        ("min_queries", min_queries, 2, None),
        ("max_slices", max_slices, 1, None),
    ):
        within = is_whole(value) and value >= least and (most is None or value <= most)
        if not within:
            rule = f"at least {least}" + ("" if most is None else f", at most {most}")
            msg = f"{name} must be a whole number, {rule}, not {value!r}"
            raise ValueError(msg)


def _summed(cube: Cube, most: int) -> pl.DataFrame:
    """Return each slice of up to ``most`` features, by half, and what holds it."""
    cells = cube.cells.with_columns(**cube.named)
    total = cells.group_by(HALF).agg(**added())
    total = total.rename({name: f"all_{name}" for name in STATE})
    parts = []
    for size in range(1, most + 1):
        for chosen in combinations(cube.named, size):
            wider = [c for c in combinations(chosen, size - 1) if c]
            parts.append(
                cells.group_by(HALF, *chosen)
                .agg(**added())
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


def _welch(found: pl.DataFrame, whole: str) -> pl.DataFrame:
    """Add the gap to the rest of a whole, its error and degrees of freedom.

    The sums of the rest are those of the whole less those of the slice, exactly.
    """
    rest = {
        name: pl.col(f"{whole}_{name}")
        - (0.0 if name.endswith("_high") else pl.col(name))
        for name in STATE
    }
    for name, state in (("own", {n: pl.col(n) for n in STATE}), ("rest", rest)):
        sums = SUMS.sums(state)
        found = found.with_columns(
            sums[total].alias(f"{name}_{total}") for total in ("n", "x", "xx")
        )
        n, x, xx = (pl.col(f"{name}_{total}") for total in ("n", "x", "xx"))
        of_mean = {"n": n, "x": x, "d": n, "xx": xx, "xd": x, "dd": n}
        found = found.with_columns(
            ratio(x, n).alias(f"{name}_mean"),
            ratio(SUMS.variance(of_mean), n).alias(f"{name}_variance"),
        )
    n, rest_n, a, b = (
        pl.col(f"{name}_{number}")
        for number in ("n", "variance")
        for name in ("own", "rest")
    )
    known = (n > 1) & (rest_n > 1)
    df = ratio((a + b) ** 2, a**2 / (n - 1.0) + b**2 / (rest_n - 1.0))
    told = {"gap": pl.col("own_mean") - pl.col("rest_mean"), "error": (a + b).sqrt()}
    return found.with_columns(
        pl.col("own_mean").alias("mean"),
        **{name: pl.when(known).then(e) for name, e in (told | {"df": df}).items()},
    )


def _against_others(found: pl.DataFrame, level: float) -> pl.DataFrame:
    """Add the gap of each slice to all other queries, with interval and p-value."""
    found = _welch(found, "all")
    gap, error, df = (pl.col(name) for name in ("gap", "error", "df"))
    lower, upper = interval(gap, error, df, level=level)
    share = pl.col("n") / pl.col("all_n")
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
        **{f"parent_{name}": pl.col(name) for name in STATE},
    )
    nested = searched.explode("parents", empty_as_null=True).join(
        whole, on="parents", how="left"
    )
    nested = _welch(nested, "parent")
    differs = _p(*(pl.col(name) for name in ("gap", "error", "df"))) < alpha
    alone = pl.col("parents").is_null()
    kept = nested.group_by("slice").agg(
        (alone | differs.fill_null(value=False)).all().alias("kept")
    )
    kept = kept.filter("kept")
    different = searched.filter(pl.col("p_value") < alpha)
    return different.join(kept, on="slice", how="semi")
