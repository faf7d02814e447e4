"""Interleave two rankers in one list, and let clicks decide which is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.distributions import tail
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behavior.impression import Impression
from polars_rank.clicks.behavior.measures import Dwell
from polars_rank.clicks.behavior.ratios import (
    Ratio,
    finished,
    states,
    warn_if_few,
    warn_of_users,
)
from polars_rank.clicks.experiments.crediting import (
    NO_WEIGHT,
    Credit,
    Method,
    outcomes_of,
    words_of,
)
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import error_of, held, in_layout
from polars_rank.clicks.log.log_columns import (
    Count,
    LogOptions,
    column_of,
    refuse_options,
    require_arguments,
    require_distinct,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.core import rules
from polars_rank.core.source import lazy_source

Test: TypeAlias = Literal["sign", "permutation"]
NoClick: TypeAlias = Literal["ignore", "tie"]
GROUPS = 1000  # of clusters whose signs are drawn together
RESULT = 4  # bytes for each byte of the outcomes of clusters
EXACT = 1000  # wins and losses for which the binomial is summed
SLACK = 2**10  # units of credits: so far apart they are equal


@function_of_log
def interleaving(  # type: ignore[misc]  # team= is an option, named here
    log: AnyFrame,
    /,
    *,
    team: str | None = None,
    credits: Mapping[str, str] | None = None,
    ranks: Mapping[str, str] | None = None,
    method: Method = "team_draft",
    credit: Credit | str = "clicks",
    min_dwell: float = 30,
    depth: int | None = None,
    no_click: NoClick = "ignore",
    test: Test = "sign",
    n_resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Estimate which of the interleaved rankers is better, with intervals and tests.

    In each impression the ranker with more credit wins; credits within 1e-9 are equal.
    The preference is the share of wins, with ties as half a win, minus a half: above 0,
    ``team_a`` is better.

    Parameters
    ----------
    log
        One row per document that an impression showed. Impressions that were not
        interleaved have null in ``team``; so do documents that no team is credited for.
    team
        Column with the ranker that put the document into the list: team draft, of two
        rankers or more.
    credits
        For each ranker the column with its credit for a click on the document, as
        optimized interleaving logs it.
    ranks
        For each of two rankers the column with its rank of the document, null where it
        lacks the document: for ``"balanced"`` and ``"probabilistic"``.
    method
        ``"team_draft"`` adds up the credit of clicks; ``"balanced"`` counts the clicks
        down to the place where either ranking holds the lowest click;
        ``"probabilistic"`` is the mean over all assignments of documents to rankers
        that softmax functions (with tau = 3) would have made.
    credit
        Credit of a team draft: ``"clicks"``; ``"any"`` (1 for any number of clicks);
        ``"first"`` (only the highest click); ``"satisfied"`` (clicks of at least
        ``min_dwell`` seconds); ``"inverse_rank"``; or a column.
    min_dwell, depth
        Seconds for ``credit="satisfied"``; and the number of documents that each ranker
        ranked, for ``"probabilistic"`` (None: many).
    no_click
        Whether impressions without a click are ignored or count as ties.
    test
        Test of ``p_value``. ``"sign"``: whether ``team_a`` wins as many clusters as it
        loses (binomial, two-sided); null for ``"probabilistic"``, whose wins are not
        whole. ``"permutation"``: ``n_resamples`` draws of the winners' signs, cluster
        by cluster.
    n_resamples, seed, level
        Number of draws and seed of the permutation test; confidence level of the
        interval.
    **options
        Columns and options of :class:`LogOptions`; ``by`` and ``cluster`` among them.

    Returns
    -------
    A frame like ``log``: a row for each segment and pair of rankers, with the ``by``
    columns, ``team_a``, ``team_b``, ``impressions`` that count, ``clicked`` (those with
    a click), ``wins`` and ``losses`` of team_a, ``ties``, ``preference``, ``se``,
    ``lower``, ``upper``, ``p_value`` of the ``test``, ``clusters`` and
    ``effective_clusters`` (how many clusters of one size would tell as much).

    Warns
    -----
    DataWarning
        When collected: no list counts, or fewer than 20 effective clusters do.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected: fewer than two teams, lists of one team only, or rows that break
        a rule, such as credits that are NaN or ranks below 1.

    Source: Radlinski, Kurup and Joachims, CIKM 2008 (team draft); Joachims, 2003
    (balanced); Hofmann, Whiteson and de Rijke, CIKM 2011 (probabilistic); Radlinski and
    Craswell, WSDM 2013 (optimized); Chapelle, Joachims, Radlinski and Yue, TOIS 2012
    (preference).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> found = clicks.interleaving(log, team="team", cluster="user_id").collect()
    >>> found.select("team_a", "team_b", "wins", "losses", "ties").row(0)
    ('A', 'B', 534, 641, 454)
    """
    _require(method, credit, no_click, test, team, credits, ranks)
    refuse_options(options, ["weight"], NO_WEIGHT)
    require_arguments(n_resamples=(Count, n_resamples), min_dwell=(Dwell, min_dwell))
    if depth is not None:
        require_arguments(depth=(Count, depth))
    require_level(level)
    given = cast("LogOptions", {**options, "team": team})
    columns = [*(credits or ranks or {}).values()]
    if team is not None and credit not in get_args(Credit):
        columns = [credit]
    bound: ClickLog = ClickLog.of(log, given, credits=columns)
    if columns:
        values = [pl.col(f"credit{i}").cast(pl.Float64) for i in range(len(columns))]
        wrong = [~v.is_finite() | (v < 1 if ranks else False) for v in values]
        bound = bound.breaking({rules.INVALID_CREDIT: pl.any_horizontal(wrong)})
    if credit == "satisfied" and "dwell" not in bound.roles:
        msg = f'credit="satisfied" needs {column_of("dwell")}'
        raise ValueError(msg)
    warn_of_users(bound)
    bound = Impression.prepare(bound)
    schema = _schema(bound, method)
    fractions = bool(columns) or credit == "inverse_rank"
    slack = SLACK if fractions and method == "team_draft" else 0

    def p_value(signed: pl.Series) -> float | None:
        if test == "permutation":
            return _permutation_test(signed, n_resamples, seed)
        return _sign_test(signed) if method != "probabilistic" else None

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        teams = [*(credits or ranks or {})] or _teams(bound)
        if len(teams) < 2:
            shown = ", ".join(map(repr, teams)) or "none"
            raise error_of(rules.ONE_TEAM, teams=shown)
        words = words_of(teams, method, credit, min_dwell, credited=bool(credits))

        def plan(log: ClickLog) -> pl.LazyFrame:
            return outcomes_of(
                log, words, teams, method, no_click=no_click, depth=depth, slack=slack
            )

        outcomes = held(
            in_layout(bound, plan),
            bound.resources,
            factor=RESULT,
            what="the outcomes of all clusters",
            otherwise="name larger clusters, such as the user, or split the log",
        )
        if "mixed" in outcomes and len(outcomes) and not outcomes["mixed"].sum():
            raise error_of(rules.NOT_INTERLEAVED, column=bound.roles["team"])
        if outcomes.is_empty():
            warn("no interleaved list has a click: there is no preference")
        yield _result(outcomes, bound, teams, schema, level, p_value)

    return like_input(log, lazy_source(read, schema, name="interleaving"))


def _require(
    method: str,
    credit: str,
    no_click: str,
    test: str,
    team: str | None,
    credits: Mapping[str, str] | None,
    ranks: Mapping[str, str] | None,
) -> None:
    require_arguments(
        method=(Method, method), no_click=(NoClick, no_click), test=(Test, test)
    )
    if method == "team_draft":
        if (team is None) == (credits is None) or ranks is not None:
            msg = "a team draft needs team= or credits=, and one of them only"
            raise ValueError(msg)
    elif ranks is None or len(ranks) != 2 or team is not None or credits is not None:
        msg = (
            f"method={method!r} needs the ranks of two rankers and nothing else, such "
            'as ranks={"A": "rank_a", "B": "rank_b"}'
        )
        raise ValueError(msg)
    if credits is not None and credit != "clicks":
        msg = "credits= says what a click is worth: leave out credit="
        raise ValueError(msg)


def _schema(log: ClickLog, method: Method) -> dict[str, pl.DataType]:
    types = log.types
    count = pl.Float64() if method == "probabilistic" else pl.UInt32()
    numbers = ("preference", "se", "lower", "upper", "p_value")
    team = types.get("team", pl.String())
    own = {
        **dict.fromkeys(("team_a", "team_b"), team),
        **dict.fromkeys(("impressions", "clicked"), pl.Int64()),
        **dict.fromkeys(("wins", "losses", "ties"), count),
        **dict.fromkeys(numbers, pl.Float64()),
        "clusters": pl.UInt32(),
        "effective_clusters": pl.Float64(),
    }
    require_distinct([*log.by, *own])
    return {name: types[log.carried[name]] for name in log.by} | own


def _teams(log: ClickLog) -> list[Any]:
    found = log.rows.select(pl.col("team").drop_nulls().unique().sort())
    return found.collect(engine="streaming")["team"].to_list()


# -- the result


def _result(
    outcomes: pl.DataFrame,
    log: ClickLog,
    teams: Sequence[Any],
    schema: dict[str, pl.DataType],
    level: float,
    p_value: Callable[[pl.Series], float | None],
) -> pl.DataFrame:
    by, pairs = [*log.segments], [*combinations(teams, 2)]
    # Per impression 1, 0 or -1; its mean over impressions is twice the preference.
    signed = {
        f"x{i}": pl.col(f"win{i}") - pl.col(f"loss{i}") for i in range(len(pairs))
    }
    ordered = outcomes.sort(*by, *log.clusters, nulls_last=True)
    frame = ordered.lazy().with_columns(**signed)
    ratios = [Ratio(str(i), name, "n") for i, name in enumerate(signed)]
    found = finished(states(frame, by, ratios), by, level, warns=False).collect()
    warn_if_few(found["effective_clusters"])  # of all together
    rows = []
    for i, (a, b) in enumerate(pairs):
        counted = {
            "clicked": pl.col("clicked").sum(),
            "wins": pl.col(f"win{i}").sum(),
            "losses": pl.col(f"loss{i}").sum(),
            "ties": pl.col(f"tie{i}").sum(),
            "signed": pl.col(f"x{i}").implode(),
        }
        pair = frame.group_by(by).agg(**counted) if by else frame.select(**counted)
        names = {"team_a": pl.lit(a, schema["team_a"]), "measure": pl.lit(str(i))}
        rows.append(pair.with_columns(**names, team_b=pl.lit(b, schema["team_b"])))
    table = found.join(
        pl.concat(rows).collect(),
        on=[*by, "measure"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    tests = [p_value(values) for values in table["signed"]]
    table = table.with_columns(
        pl.col("se", "lower", "upper") / 2,
        preference=pl.col("estimate") / 2,
        impressions="n",
        p_value=pl.Series(tests, dtype=pl.Float64),
    ).sort(by, maintain_order=True, nulls_last=True)
    return log.titled(table).select(
        pl.col(name).cast(dtype) for name, dtype in schema.items()
    )


def _sign_test(signed: pl.Series) -> float | None:
    """Test on both sides: exactly, or normally with a continuity correction."""
    wins, losses = int((signed > 0).sum()), int((signed < 0).sum())
    n, least = wins + losses, min(wins, losses)
    if n == 0:
        return None
    if n > EXACT:
        apart = max(abs(wins - losses) - 1, 0) / math.sqrt(n)
        return float(tail(apart))
    cases: int = sum(math.comb(n, i) for i in range(least + 1))
    return min(1.0, float(2 * cases / 2**n))


def _permutation_test(signed: pl.Series, n_resamples: int, seed: int) -> float | None:
    """Count how often random signs of clusters make as large a difference."""
    import numpy as np

    rng = np.random.default_rng(seed)
    values = signed.cast(pl.Float64).to_numpy()
    if not len(values):
        return None
    if len(values) > GROUPS:  # whose signs change together: no less fair
        values = np.bincount(rng.integers(GROUPS, size=len(values)), values, GROUPS)
    found, extreme = abs(float(values.sum())), 0
    for done in range(0, n_resamples, 1000):
        signs = rng.integers(2, size=(min(1000, n_resamples - done), len(values)))
        drawn = np.abs((2.0 * signs - 1.0) @ values)
        extreme += int((drawn >= found - 1e-9).sum())
    # What was seen is one of the draws: without it, p-values are 0 too often (Phipson
    # and Smyth, 2010).
    return (extreme + 1) / (n_resamples + 1)
