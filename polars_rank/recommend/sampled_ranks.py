"""Measures of a whole catalog from relevant items and sampled negatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

import polars as pl

from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.distributions import special
from polars_rank._statistics.intervals import require_level
from polars_rank.core.exact.state import DEFINITION, added_up
from polars_rank.core.metric.registry import not_taken
from polars_rank.core.parameters import is_whole
from polars_rank.core.source import is_rereadable, lazy_source
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.io.states import read_states
from polars_rank.measures.measure import Measures
from polars_rank.recommend.rank_counts import (
    CHECKS,
    COLUMNS,
    TIES,
    TYPES,
    Check,
    Design,
    Roles,
    Ties,
    rank_counts,
    require_possible,
)
from polars_rank.recommend.sampled_measures import (
    METHODS,
    VALUES,
    Method,
    OfRank,
    finished,
    of_ranks,
    schema_of,
)


class ListOptions(TypedDict, total=False):
    """The columns of lists with sampled negatives, and how these were drawn.

    Attributes
    ----------
    by
        Columns with segments, such as that of the system: each has its own lists.
    user
        Column that tells lists apart.
    cluster
        Column of the units that are independent; by default the user is.
    item
        Column of the items. With it, negatives that are the relevant item are refused;
        ``probability`` needs it.
    label, score
        Columns: labels above 0 are relevant, and high scores rank first.
    probability
        Column with the probability of the item in one draw, for negatives that were
        drawn independently and not all alike, such as by popularity. One row is one
        draw, so that an item may be there twice.
    min_probability
        The probability of the rarest item of the catalog, or less. Draws are thinned:
        each is kept with ``min_probability`` / ``probability``, in eight ways by hash,
        and of the items above, all are kept with the same probability. N times this is
        the share of the draws that tell anything.
    replacement
        Whether negatives of equal probability were drawn with replacement.
    ties
        Whether a negative with the score of the relevant item is above it:
        ``"pessimistic"`` or ``"optimistic"``.
    check
        ``"full"`` looks for distinct negatives that are there twice, which needs
        ``item`` and memory for the items of all users.
    seed
        Seed of the hash that thins draws.
    """

    by: str | Sequence[str]
    user: str
    cluster: str | None
    item: str | None
    label: str
    score: str
    probability: str | None
    min_probability: float | None
    replacement: bool
    ties: Ties
    check: Check
    seed: int


DEFAULTS: ListOptions = {
    "by": (),
    "user": "user_id",
    "cluster": None,
    "item": None,
    "label": "label",
    "score": "score",
    "probability": None,
    "min_probability": None,
    "replacement": False,
    "ties": "pessimistic",
    "check": "strict",
    "seed": 0,
}


@frame_function
def sampled(
    log: FrameLike,
    /,
    measures: Measures = "hits@10",
    *,
    n_items: int,
    method: Method = "em",
    level: float = 0.95,
    **options: Unpack[ListOptions],
) -> AnyFrame:
    """Estimate measures over a whole catalog from sampled negatives.

    Among m sampled negatives a relevant item ranks far better than among all N items: a
    measure of that rank (``naive``) is none of the catalog, and may put systems in
    another order. But how many negatives are above an item of rank r has a known
    distribution, hypergeometric or binomial, which the estimators invert.

    Parameters
    ----------
    log
        A row per user and candidate: one relevant item, and its sampled negatives.
    measures
        One or more of ``hits@k``, ``recall@k``, ``ndcg``, ``rr`` and ``ap``, the latter
        with or without a cutoff, of the rank of the relevant item.
    n_items
        Number N of items that the relevant one is ranked among, itself included: the
        catalog, without what is filtered out before a draw.
    method
        ``"em"``: the distribution of ranks of the greatest likelihood, by EM from equal
        probabilities until a step raises the log-likelihood by less than 0.01 (of n
        users above 5,000: by 0.01 x 5,000 / n; at most 10,000 steps), ranks above
        200 in cells of 1 %. ``"decreasing"``: of the distributions in which no rank of
        the better half is likelier than the one before, that of the least chi-square;
        for 50,000 lists or more. ``"rank"``: the measure at the rank
        1 + floor((N - 1) x / m), x negatives above. ``"least_squares"``: a value for
        each x, of the least squared bias plus 0.01 times the variance, if all ranks are
        equally likely.
    level
        Confidence level.
    **options
        Columns of the log, and how negatives were drawn: :class:`ListOptions`.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, with a row per segment and
    measure: the ``by`` columns, ``measure``; ``naive``, its mean among the sampled
    items; ``estimate`` of its mean among all; ``se``, ``lower``, ``upper``; ``users``,
    the number of lists; ``negatives``, how many each has, on average; and
    ``min_negatives``, the fewest that tell the ranks that matter. Errors are those of a
    jackknife that leaves out 20 groups of users in turn (Student's t, 19 degrees of
    freedom; the extra ``stats``): those of the draw of users and negatives, without the
    bias of an estimator, which is most of the error of ``"em"`` if lists are many. The
    interval of ``"decreasing"``, which has no ``se``, holds all values of such a
    distribution whose chi-square is not significantly larger (its profile), and so what
    the counts leave open. Errors are null if all users are in one group, or if the
    ranks that matter cannot be told.

    Warns
    -----
    DataWarning
        If k < N / m. No negative above says no more than that the rank is below about
        N / m, so nothing tells what happens within, and the interval is null. For
        ``ndcg``, ``rr`` and ``ap``, which weigh ranks, k is at most 3 here.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected: no relevant item, or several; no negatives, or more than N - 1
        distinct ones; the relevant item among them; null or NaN; a probability below
        the least.

    Source: Krichene and Rendle, KDD 2020 (``rank``, ``least_squares``: sections 5.1 and
    5.3); Jin, Li, Mudgal, Gao and others, AAAI 2021 (``em``).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> log = pl.DataFrame(
    ...     {
    ...         "user_id": [1, 1, 1, 2, 2, 2],
    ...         "label": [1, 0, 0, 1, 0, 0],
    ...         "score": [0.5, 0.9, 0.1, 0.7, 0.2, 0.1],
    ...     }
    ... )
    >>> found = recommend.sampled(log, "hits@2", n_items=3, method="rank")
    >>> found.select("naive", "estimate", "users").row(0)
    (1.0, 1.0, 2)
    """
    chosen = _chosen(measures, method, level)
    roles, design, check = _read("sampled", n_items, options)
    frame = as_polars(log, name="the log").lazy()
    state = rank_counts(frame, roles, design, check=check, part=None)
    columns = schema_of(roles.by, frame.collect_schema())

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        rows = state.collect(engine="streaming")
        yield finished(rows, roles.by, design.definition, *chosen)

    again = is_rereadable(frame)
    plan = lazy_source(read, columns, name="sampled ranks", rereadable=again)
    return like_input(log, plan)


@frame_function
def sampled_state(
    log: FrameLike,
    /,
    *,
    n_items: int,
    part: str | None = None,
    **options: Unpack[ListOptions],
) -> AnyFrame:
    """Count what a day, a file or a partition of a log adds to :func:`sampled`.

    The counts serve any measure, cutoff and estimator.

    Parameters
    ----------
    log, n_items, **options
        As in :func:`sampled`. A list must lie in one part.
    part
        Name of the part, such as its day. Two parts of the same content are one part,
        which :func:`merge_sampled` refuses to count twice, unless they have two names.

    Returns
    -------
    A frame like ``log``, a row for each segment, measure (``sampled``; ``thinned``, if
    there are probabilities) and ``group`` of users: lists of ``negatives``, ``above``
    and ``counts``; ``definition``, all that can change a value; and ``digests``, eight
    bytes as text, of the content. To be kept in Parquet or Arrow files.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> log = pl.DataFrame({"user_id": [1, 1], "label": [1, 0], "score": [0.5, 0.9]})
    >>> recommend.sampled_state(log, n_items=3).select("above", "counts").row(0)
    ([1], [1])
    """
    roles, design, check = _read("sampled_state", n_items, options)
    frame = as_polars(log, name="the log").lazy()
    return like_input(log, rank_counts(frame, roles, design, check=check, part=part))


def merge_sampled(
    parts: FrameLike | Iterable[FrameLike],
    /,
    measures: Measures = "hits@10",
    *,
    method: Method = "em",
    level: float = 0.95,
) -> pl.DataFrame:
    """Merge the states of parts into the measures of the whole.

    Parameters
    ----------
    parts
        Results of :func:`sampled_state`, of the same catalog and segments: frames of
        any library, or paths.
    measures, method, level
        As in :func:`sampled`.

    Returns
    -------
    What :func:`sampled` of all parts together returns, to the last bit.

    Raises
    ------
    DataError
        If a part is no state, or damaged; if the same part is there twice, by the
        digest of its content; if parts differ in their definition or their columns. It
        names the file, and what differs.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> log = pl.DataFrame({"user_id": [1, 1], "label": [1, 0], "score": [0.5, 0.9]})
    >>> days = [log, log.with_columns(user_id=pl.lit(2))]
    >>> states = [recommend.sampled_state(day, n_items=2) for day in days]
    >>> merged = recommend.merge_sampled(states, "hits@1", method="rank")
    >>> merged.select("naive", "users").row(0)
    (0.0, 2)
    """
    chosen = _chosen(measures, method, level)
    states = read_states(parts, "state")
    whole = added_up(states, "sampled", TYPES, require_possible)
    by = [name for name in whole.columns if name not in COLUMNS]
    whole = whole.sort(by, nulls_last=True, maintain_order=True) if by else whole
    definition = "" if whole.is_empty() else whole[DEFINITION][0]
    return finished(whole, by, definition, *chosen)


def _chosen(
    measures: Measures, method: Method, level: float
) -> tuple[list[OfRank], Method, float]:
    require_level(level)
    special()  # what is missing is said at once
    _require_known("method", method, METHODS)
    return of_ranks(measures), method, level


def _require_known(name: str, given: object, known: Sequence[str]) -> None:
    if given not in known:
        msg = f"{name} must be one of {', '.join(known)}, not {given!r}"
        raise ValueError(msg)


def _read(
    function: str, n_items: int, options: ListOptions
) -> tuple[Roles, Design, Check]:
    """Check the arguments, and what depends on another."""
    for name in options:
        if name not in DEFAULTS:
            raise TypeError(not_taken(function, name, ["n_items", *DEFAULTS]))
    given: ListOptions = {**DEFAULTS, **options}
    ties, check, by = given["ties"], given["check"], given["by"]
    probability, least = given["probability"], given["min_probability"]
    if not is_whole(n_items) or n_items < 2:
        msg = f"n_items must be the size of the catalog, 2 or more, not {n_items!r}"
        raise ValueError(msg)
    _require_known("ties", ties, TIES)
    _require_known("check", check, CHECKS)
    if (probability is None) != (least is None):
        msg = (
            "probability, a column, and min_probability, that of the rarest item of "
            "the catalog, go together; give both"
        )
        raise ValueError(msg)
    if least is not None and not 0 < least * (n_items - 1) <= 1 + 1e-9:
        msg = (
            "min_probability must be above 0 and at most 1 / (n_items - 1), as if all "
            f"{n_items - 1:,} others were equally likely, not {least!r}"
        )
        raise ValueError(msg)
    needs = ["probability="] if probability is not None else []
    needs += ["check='full'"] if check == "full" else []
    if needs and given["item"] is None:
        msg = f"{needs[0]} needs item=, the column of the items, to tell rows apart"
        raise ValueError(msg)
    segments = (by,) if isinstance(by, str) else tuple(by)
    made: set[Any] = {*VALUES, *COLUMNS}
    if odd := [name for name in segments if name in made]:
        msg = f"a result has a column {odd[0]!r}; rename the column of by="
        raise ValueError(msg)
    independent = given["replacement"] or probability is not None
    roles = Roles(segments, **{n: given[n] for n in Roles._fields[1:]})  # type: ignore[literal-required]
    design = Design(int(n_items), independent, least, ties, given["seed"])
    return roles, design, check
