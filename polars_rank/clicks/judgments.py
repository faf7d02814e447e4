"""Judgments from clicks, and how well they agree with given ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args

import polars as pl

from polars_rank._engine.request import AnyFrame, Frame, like_input
from polars_rank._engine.schema import Columns, align_ids, bind_columns, require_columns
from polars_rank._statistics.distributions import normal_quantile, special
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.bias import Propensities, faults_first, with_propensities
from polars_rank.clicks.counts import checked, position_totals, shown
from polars_rank.clicks.log import ClickLog, LogOptions
from polars_rank.clicks.plan import bounded_by
from polars_rank.core.binding import metric_expr
from polars_rank.core.expr import ratio
from polars_rank.metrics.correlation import kendall_tau
from polars_rank.metrics.pairwise import auc

__all__ = ["JudgmentMethod", "agreement", "confusion", "judgments"]

JudgmentMethod: TypeAlias = Literal["ratio", "ips", "ctr", "coec", "affine"]
Prior: TypeAlias = tuple[float, float] | Literal["log", "query"] | None
Disagreement: TypeAlias = Literal["linear", "quadratic", "none"]
STATISTICS = ("equal", "kappa", "kendall_tau", "auc")


def judgments(
    log: Frame,
    method: JudgmentMethod = "ratio",
    /,
    *,
    propensities: Propensities = None,
    grades: int | Sequence[float] | None = None,
    grades_within: Literal["log", "query"] = "log",
    min_impressions: int = 10,
    min_clicks: int = 0,
    prior: Prior = None,
    level: float | None = 0.95,
    **options: Unpack[LogOptions],
) -> Frame:
    """Make judgments of queries and documents from clicks.

    Parameters
    ----------
    log
        One row per document that an impression showed, or totals (``count=``).
    method
        ``"ratio"``: clicks by the number of times that the document was examined,
        ``sum clicks / sum propensity``: the maximum of the Poisson likelihood, with a
        smaller error than ``"ips"`` and the same mean.

        ``"ips"``: ``sum clicks / propensity`` per impression.

        ``"affine"``: ``sum (clicked - beta) / sum alpha``, under trust bias.

        ``"coec"``: clicks over those expected of the positions' mean click rates.

        ``"ctr"``: clicks per impression, which position bias distorts.
    propensities
        As in :func:`counterfactual`; not for ``"ctr"`` and ``"coec"``.
    grades
        None: the label is the estimate. Thresholds in rising order: the label is the
        number of thresholds that the estimate reaches. A whole number n: grades from 0
        to n - 1, each for about as many documents.
    grades_within
        Whether the grades split all documents of the log, or those of each query.
    min_impressions, min_clicks
        A document with fewer has a null label: it is not judged.
    prior
        Clicks and examinations that are added to those of each document; or ``"log"``
        or ``"query"``: found by the method of moments (empirical Bayes), towards the
        mean of all, or of the query. For ``"ratio"``, ``"coec"`` and ``"ctr"``.
    level
        Confidence level; None: no intervals. All but those of ``"ctr"`` without a
        prior take the extra ``stats``.
    **options
        Columns and options of :class:`LogOptions`; ``by``, ``weight``, ``cluster``
        and ``impressions`` are refused.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per query and
    document that was shown, sorted: their columns, ``label``, ``estimate``, ``lower``,
    ``upper`` (Poisson, of Garwood; Wilson for ``"ctr"``; gamma with a prior),
    ``impressions`` and ``clicks``. It can be given to ``evaluate(qrels=...)``.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Source: Zhang and Jones, WWW 2007 (COEC); Joachims, Swaminathan and Schnabel, WSDM
    2017 (IPS); Garwood, Biometrika 1936; Wilson, JASA 1927.

    Examples
    --------
    >>> import polars_rank as pr
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, queries=50, seed=1)
    >>> qrels = clicks.judgments(
    ...     simulation.log, propensities=simulation.propensities, grades=[0.1, 0.3]
    ... )
    >>> qrels.head(2).select("query_id", "doc_id", "label", "clicks").rows()
    [(0, 0, 2, 506), (0, 1, 0, 79)]
    """
    if method not in get_args(JudgmentMethod):
        allowed = ", ".join(get_args(JudgmentMethod))
        msg = f"method must be one of {allowed}, not {method!r}"
        raise ValueError(msg)
    _require_choices(method, grades, grades_within, prior, level, options)
    plain = method in ("ctr", "coec")
    if plain and propensities is not None:
        msg = f'propensities= is not for method "{method}"'
        raise ValueError(msg)
    bound: ClickLog = ClickLog.of(log, options, needs=["query", "doc"], totals=True)
    table = _table(bound, propensities, method)
    found = _estimated(table, method, prior, level)
    judged = pl.col("impressions") >= min_impressions
    judged = judged & (pl.col("clicks") >= min_clicks)
    label = pl.when(judged).then(pl.col("estimate"))
    found = found.with_columns(label=_graded(label, grades, grades_within))
    names = {role: bound.roles[role] for role in ("query", "doc")}
    columns = ["label", "estimate", "lower", "upper", "impressions", "clicks"]
    found = found.select(*names, *columns).sort(*names)
    if bound.check != "off":
        sound = checked(bound, documents=True).select(sound=pl.col("impressions") >= 0)
        found = found.join(sound, how="cross", maintain_order="left").filter("sound")
        found = found.drop("sound")
    return like_input(log, faults_first(found, bound).rename(names))


def _require_choices(
    method: str,
    grades: int | Sequence[float] | None,
    within: str,
    prior: Prior,
    level: float | None,
    options: LogOptions,
) -> None:
    for name in ("by", "weight", "cluster", "impressions"):
        if options.get(name) is not None:
            msg = f"judgments take no {name}=: there is one row per query and document"
            raise ValueError(msg)
    if within not in ("log", "query"):
        msg = f"grades_within must be 'log' or 'query', not {within!r}"
        raise ValueError(msg)
    if isinstance(grades, int):
        if isinstance(grades, bool) or grades < 2:
            msg = f"grades must be at least 2, not {grades!r}"
            raise ValueError(msg)
    elif grades is not None:
        if not len(grades) or list(grades) != sorted(set(grades)):
            msg = f"grades must be thresholds in rising order, not {grades!r}"
            raise ValueError(msg)
        if within == "query":
            msg = "grades_within='query' is for a number of grades, not for thresholds"
            raise ValueError(msg)
    if prior is not None:
        if method in ("ips", "affine"):
            msg = f'prior= is for "ratio", "coec" and "ctr", not "{method}"'
            raise ValueError(msg)
        pair = isinstance(prior, Sequence) and not isinstance(prior, str)
        if not (prior in ("log", "query") if not pair else len(prior) == 2):
            msg = (
                "prior must be a pair of clicks and examinations, 'log' or 'query', "
                f"not {prior!r}"
            )
            raise ValueError(msg)
        if pair and not all(float(x) > 0 for x in cast("tuple[float, float]", prior)):
            msg = f"prior must be above 0, not {prior!r}"
            raise ValueError(msg)
    if level is not None:
        require_level(level)
        if method != "ctr" or prior is not None:  # all but those of Wilson
            special()


def _table(log: ClickLog, propensities: Propensities, method: str) -> pl.LazyFrame:
    """One row per query and document: how often shown, clicked, examined."""
    weighed = _weighed(log, propensities, method)
    pair = ["query", "doc"]
    # A logged propensity can vary between the rows of a position.
    cell = [*pair, "position", "alpha", "beta"]
    rows = weighed.select(*cell, n=shown(log), c=pl.col("clicked").cast(pl.Int64))
    n, c = pl.col("n"), pl.col("c")
    alpha, beta = pl.col("alpha"), pl.col("beta")

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        cells = rows.group_by(cell).agg(n.sum(), c.sum())
        # In this order, so that sums do not depend on the order of the rows.
        ordered = cells.sort(cell).group_by(pair, maintain_order=True)
        return ordered.agg(
            impressions=n.sum(),
            clicks=c.sum(),
            exposure=(n * alpha).sum(),
            weighted=(c / alpha).sum(),
            background=(n * beta).sum(),
        )

    return bounded_by(log, rows, ["query"], summed, f"judgments {method}")


def _weighed(log: ClickLog, propensities: Propensities, method: str) -> pl.LazyFrame:
    """The rows with ``alpha`` and ``beta``: what is divided by, and subtracted."""
    if method == "ctr":
        return log.rows.with_columns(alpha=1.0, beta=0.0)
    if method == "coec":
        rates = position_totals(log, []).select(
            "position", alpha=pl.col("clicks") / pl.col("impressions"), beta=0.0
        )
        return log.rows.join(rates, on="position")
    return with_propensities(log, propensities, trust=method == "affine").rows


def _estimated(
    table: pl.LazyFrame, method: str, prior: Prior, level: float | None
) -> pl.LazyFrame:
    """Add ``estimate``, ``lower`` and ``upper``."""
    n, c, e = (pl.col(name) for name in ("impressions", "clicks", "exposure"))
    clicks = c.cast(pl.Float64)
    if prior is not None:
        table, more, extra = _with_prior(table, prior)
        shape, rate = more + clicks, extra + e
        sure = more.is_infinite()  # nothing varies: the mean itself
        mean = pl.col("mean")
        low, high = (
            pl.when(sure).then(mean).otherwise(bound / rate)
            for bound in _gamma(shape, shape, level)
        )
        estimate = pl.when(sure).then(mean).otherwise(shape / rate)
        return table.with_columns(estimate=estimate, lower=low, upper=high)
    if method == "ctr" and level is not None:
        z = normal_quantile(0.5 + level / 2)
        rate = clicks / n
        middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = (rate * (1 - rate) / n + z * z / (4 * n * n)).sqrt() * z
        half = half / (1 + z * z / n)
        return table.with_columns(
            estimate=rate,
            lower=(middle - half).clip(lower_bound=0.0),
            upper=(middle + half).clip(upper_bound=1.0),
        )
    low, high = _gamma(clicks, clicks + 1.0, level)
    if method == "ips":
        # As many examinations per click as those of the document had on average.
        size = pl.when(c > 0).then(pl.col("weighted") / clicks / n).otherwise(1.0 / e)
        return table.with_columns(
            estimate=pl.col("weighted") / n, lower=low * size, upper=high * size
        )
    below = pl.col("background")
    return table.with_columns(
        estimate=ratio(clicks - below, e),
        lower=ratio(low - below, e),
        upper=ratio(high - below, e),
    )


def _gamma(low: pl.Expr, high: pl.Expr, level: float | None) -> tuple[pl.Expr, pl.Expr]:
    """Ends of the interval of a Poisson mean: quantiles of two gamma distributions."""
    if level is None:
        empty = pl.lit(None, pl.Float64)
        return empty, empty
    tail = (1 - level) / 2

    def quantile(p: float) -> Any:
        def of(shape: pl.Series) -> pl.Series:
            values = special().gammaincinv(shape.to_numpy(), p)
            return pl.Series(shape.name, values).fill_nan(None)

        return of

    ends = [
        shape.map_batches(quantile(p), return_dtype=pl.Float64, is_elementwise=True)
        for shape, p in ((low, tail), (high, 1 - tail))
    ]
    return pl.when(low > 0).then(ends[0]).otherwise(0.0), ends[1]


def _with_prior(
    table: pl.LazyFrame, prior: Prior
) -> tuple[pl.LazyFrame, pl.Expr, pl.Expr]:
    """The table with ``mean``; clicks and examinations that are added.

    Moments: ``E (c - m e)^2 = m e + tau (m e)^2`` of clicks c, examinations e, mean m;
    the relative variance tau is one for the log.
    """
    if not isinstance(prior, str):
        a, b = cast("tuple[float, float]", prior)
        table = table.with_columns(mean=pl.lit(a / b))
        return table, pl.lit(float(a)), pl.lit(float(b))
    c, e = pl.col("clicks"), pl.col("exposure")
    mean = ratio(c.sum().cast(pl.Float64), e.sum())
    table = table.with_columns(mean=mean.over("query") if prior == "query" else mean)
    expected = pl.col("mean") * e
    excess = ((c - expected) ** 2 - c).sum()
    tau = ratio(excess, (expected**2).sum())
    shape = pl.when(tau > 0).then(1.0 / tau).otherwise(math.inf)
    table = table.with_columns(shape=shape)
    return table, pl.col("shape"), pl.col("shape") / pl.col("mean")


def _graded(
    estimate: pl.Expr, grades: int | Sequence[float] | None, within: str
) -> pl.Expr:
    """The label: the estimate, how many thresholds it reaches, or its part."""
    if grades is None:
        return estimate
    if isinstance(grades, int):
        below = (estimate.rank("min") - 1).cast(pl.Int64)
        part = (below * grades).floordiv(estimate.count().cast(pl.Int64))
        part = part.over("query") if within == "query" else part
        return part.cast(pl.Int32)
    reached = pl.sum_horizontal((estimate >= t).cast(pl.Int32) for t in grades)
    return pl.when(estimate.is_not_null()).then(reached).cast(pl.Int32)


# -- agreement


def agreement(
    judgments: AnyFrame,
    given: AnyFrame,
    /,
    *,
    weights: Disagreement = "linear",
    rel: float = 1,
    query: str = "query_id",
    doc: str = "doc_id",
    label: str = "label",
    given_label: str | None = None,
) -> pl.DataFrame:
    """Compare judgments with given ones, on the documents that both have.

    Parameters
    ----------
    judgments, given
        Frames with query, document and label; null: not judged.
    weights
        Weights of disagreement in Cohen's kappa: the difference of the grades
        (``"linear"``), its square, or (``"none"``) the same for all.
    rel
        Lowest relevant grade of ``given``, for ``auc``.
    query, doc, label, given_label
        Columns; ``given_label`` is that of ``given`` if it differs.

    Returns
    -------
    One row: ``pairs`` in both, ``only_judgments`` and ``only_given``; ``equal``, share
    of equal labels, and ``kappa``, corrected for chance: both null unless all labels
    are whole numbers; ``kendall_tau`` (tau-b) and ``auc`` of the judgments' labels
    against the given ones: means over the ``queries`` that have one.

    Source: Cohen, 1960 and 1968 (weighted kappa).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> a = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 3], "label": [2, 1, 0]})
    >>> b = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 4], "label": [2, 0, 1]})
    >>> clicks.agreement(a, b).select("pairs", "only_given", "equal").row(0)
    (2, 1, 0.5)
    """
    if weights not in get_args(Disagreement):
        msg = f"weights must be one of {', '.join(get_args(Disagreement))}"
        raise ValueError(msg)
    both = _joined(judgments, given, query, doc, label, given_label or label)
    pairs = both.drop_nulls(["a", "b"])
    a, b = pl.col("a"), pl.col("b")
    whole = pairs.select(((a.floor() == a) & (b.floor() == b)).all()).item()
    cells = pairs.group_by("a", "b").len()
    total = len(pairs)

    def cost(frame: pl.DataFrame) -> float:
        apart = (a - b).abs()
        if weights == "quadratic":
            apart = apart**2
        elif weights == "none":
            apart = (a != b).cast(pl.Float64)
        return float(frame.select((apart * pl.col("len")).sum()).item())

    kappa = equal = None
    if total and whole:
        equal = float(pairs.select((a == b).mean()).item())
        rows, columns = (cells.group_by(x).agg(pl.col("len").sum()) for x in ("a", "b"))
        chance = rows.join(columns, how="cross", suffix="_b").select(
            "a", "b", len=pl.col("len") * pl.col("len_b") / total
        )
        expected = cost(chance)
        kappa = 1 - cost(cells) / expected if expected else None
    per_query = pairs.group_by("query").agg(
        tau=metric_expr(kendall_tau, b, score=a, ties="expected"),
        auc=metric_expr(lambda r: auc(r, rel=rel), b, score=a, ties="expected"),
    )
    return pl.DataFrame(
        {
            "pairs": [total],
            "only_judgments": [both.filter(b.is_null() & a.is_not_null()).height],
            "only_given": [both.filter(a.is_null() & b.is_not_null()).height],
            "equal": [equal],
            "kappa": [kappa],
            "kendall_tau": [per_query["tau"].drop_nulls().mean()],
            "auc": [per_query["auc"].drop_nulls().mean()],
            "queries": [per_query.filter(pl.col("tau").is_not_null()).height],
        },
        schema_overrides=dict.fromkeys(
            ("equal", "kappa", "kendall_tau", "auc"), pl.Float64
        ),
    )


def confusion(
    judgments: AnyFrame,
    given: AnyFrame,
    /,
    *,
    query: str = "query_id",
    doc: str = "doc_id",
    label: str = "label",
    given_label: str | None = None,
) -> pl.DataFrame:
    """Count documents by their labels in both frames.

    Parameters are those of :func:`agreement`.

    Returns
    -------
    ``label``, ``given_label`` and ``pairs``, sorted; null: not judged there.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> a = pl.DataFrame({"query_id": 1, "doc_id": [1, 2], "label": [2, 1]})
    >>> b = pl.DataFrame({"query_id": 1, "doc_id": [1, 2], "label": [2, 0]})
    >>> clicks.confusion(a, b).rows()
    [(1.0, 0.0, 1), (2.0, 2.0, 1)]
    """
    both = _joined(judgments, given, query, doc, label, given_label or label)
    some = both.filter(pl.col("a").is_not_null() | pl.col("b").is_not_null())
    cells = some.group_by("a", "b").agg(pairs=pl.len())
    return cells.sort("a", "b").rename({"a": "label", "b": "given_label"})


def _joined(
    left: AnyFrame, right: AnyFrame, query: str, doc: str, label: str, given_label: str
) -> pl.DataFrame:
    """Labels ``a`` and ``b`` of all queries and documents."""
    frames = []
    for where, frame, name in (
        ("judgments", left, label),
        ("given", right, given_label),
    ):
        schema = frame.lazy().collect_schema()
        require_columns([query], schema, where=where, argument="query")
        require_columns([doc], schema, where=where, argument="doc")
        roles = {"query": query, "doc": doc, "label": name}
        bound = bind_columns(
            frame.lazy(), Columns((), roles), where=where, roles=[*roles]
        )
        frames.append(bound.frame)
    ids = {"query": query, "doc": doc}
    first, second = align_ids(frames[0], frames[1], ids, where=("judgments", "given"))
    for where, frame in (("judgments", first), ("given", second)):
        twice = frame.group_by("query", "doc").len().filter(pl.col("len") > 1)
        if copies := twice.select(pl.len()).collect().item():
            msg = f"{copies} documents come twice in a query of {where}; keep one each"
            raise ValueError(msg)
    return (
        first.select("query", "doc", a=pl.col("label").cast(pl.Float64))
        .join(
            second.select("query", "doc", b=pl.col("label").cast(pl.Float64)),
            on=["query", "doc"],
            how="full",
            coalesce=True,
        )
        .sort("query", "doc")
        .collect()
    )
