"""``.rank_eval`` on Expr: one method for every metric of the registry.

The types are in ``expr.pyi``, which ``python docs/make.py`` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType

import polars as pl

from polars_rank.conventions.tools import DEFAULT, ConventionLike
from polars_rank.core.expr import as_expr
from polars_rank.core.metric.registry import Metric, of_vocabulary
from polars_rank.core.words.ranking import NoRelevant, Ties
from polars_rank.measures.measure import (
    Measure,
    MeasureLike,
    Measures,
    parse_measures,
)
from polars_rank.measures.names import resolve_name
from polars_rank.namespaces.method import Options, expr_of, method
from polars_rank.namespaces.several import needs_a_frame, several_of
from polars_rank.typing import Column

OF_FRAMES = (
    *("evaluate", "evaluate_both", "compare", "match_report"),
    *("preferences", "contributions", "changes", "reasons"),
)


class ExprRankEval:
    """Metrics of one ranked list; the expression holds the labels.

    Every method takes the score that ranks the documents (highest first) and
    ``convention=``, the tool whose choices apply to everything not given. Most take
    ``rank=`` instead of the score, a column of known ranks; ``doc=``, document ids that
    break ties; ``ties=``; and ``no_relevant=``, the value if nothing is relevant.
    The other parameters are those of the metric: ``help`` describes them. Names of
    other tools work as they do in text: ``recip_rank``, ``P_5``, ``Recall``.

    An expression sees the rows of one query. It cannot count queries that are missing
    from the run, and refuses a convention that drops unjudged documents.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank
    >>> log = pl.DataFrame({"score": [0.9, 0.8], "label": [0, 1]})
    >>> log.select(pl.col("label").rank_eval.rr("score")).item()
    0.5
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._label = expr

    def __getattr__(self, name: str) -> Callable[..., pl.Expr]:
        """Find the metric by an alias; measures of subtopics are for frames only."""
        if name.startswith("_"):
            raise AttributeError(name=name, obj=self)
        if name in OF_FRAMES:
            msg = (
                f"{name} is for frames: frame.rank_eval.{name}(...); an expression has "
                "a method for each measure, e.g. .rank_eval.ndcg('score', k=10), and "
                ".rank_eval.per_query for several"
            )
            raise AttributeError(msg, name=name, obj=self)
        try:
            metric, preset, after = resolve_name(name)
        except ValueError as error:
            msg = f"rank_eval of an expression: {error}"
            raise AttributeError(msg, name=name, obj=self) from None
        if metric.vocabulary == "ranking":
            return partial(getattr(self, metric.name), **preset | after)
        msg = needs_a_frame(metric.name, metric.vocabulary)
        raise AttributeError(msg, name=name, obj=self)

    def per_query(
        self,
        measures: Measures,
        score: Column | None = None,
        *,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = DEFAULT,
    ) -> pl.Expr:
        """Compute several measures for the query at hand, as one struct.

        The documents are put in order once. Polars shares no sort between expressions:
        five measures in one ``agg``, each by itself, sort five times.

        Parameters
        ----------
        measures
            As in :func:`polars_rank.per_query`: names such as ``"ndcg@10"``, values,
            or formulas of your own.
        score, rank, doc, ties, convention
            As for the measures themselves.
        no_relevant
            As for the measures themselves, of those that need relevant documents.

        Returns
        -------
        A struct with a Float64 for each measure, under its name, called as the label.

        Raises
        ------
        ValueError
            At once, for a measure that an expression cannot compute.
        DataError
            When collected, for rows that break a rule.

        Examples
        --------
        >>> import polars as pl, polars_rank
        >>> log = pl.DataFrame(
        ...     {"query_id": [1, 1, 2], "score": [2, 1, 1], "label": [0, 1, 1]}
        ... )
        >>> values = pl.col("label").rank_eval.per_query("rr,precision@2", "score")
        >>> log.group_by("query_id").agg(values).unnest("label").sort("query_id").rows()
        [(1, 0.5, 0.5), (2, 1.0, 0.5)]
        """
        options = Options(score, rank, doc, ties, no_relevant, convention)
        return several_of(measures, self._label, options)

    def contribution(
        self,
        measure: MeasureLike,
        score: Column | None = None,
        *,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = DEFAULT,
    ) -> pl.Expr:
        """Compute what each document adds to the measure, a value for each row.

        The values of a query sum to the measure: see
        :func:`polars_rank.analysis.contributions`. They work in ``.over()``, in
        ``group_by().agg()`` as lists, and in ``select()``.

        Parameters
        ----------
        measure
            A measure that is a sum over documents, such as ``"ndcg@10"``.
        score, rank, doc, ties, convention
            As for the measures themselves.

        Returns
        -------
        A Float64 per row; null where the measure is undefined. What no document adds,
        such as the 1 of ``no_relevant="one"``, is in no row.

        Raises
        ------
        ValueError
            At once, for a measure that is not a sum over documents.

        Examples
        --------
        >>> import polars as pl, polars_rank
        >>> log = pl.DataFrame(
        ...     {"query_id": [1, 1, 2], "score": [2, 1, 1], "label": [1, 1, 1]}
        ... )
        >>> precision = pl.col("label").rank_eval.contribution("precision@2", "score")
        >>> log.select(precision.over("query_id")).to_series().to_list()
        [0.5, 0.5, 0.5]
        """
        from polars_rank.analysis.expression import contribution_expr  # not needed yet

        parsed, *others = parse_measures(measure)
        ranked = isinstance(parsed, Measure) and (
            parsed.definition.vocabulary == "ranking"
        )
        if others or not isinstance(parsed, Measure) or not ranked:
            msg = f"contribution is of one measure, such as 'ndcg@10', not {measure!r}"
            raise ValueError(msg)
        options = Options(score, rank, doc, ties, parsed.no_relevant, convention)
        share = partial(contribution_expr, name=parsed.name)
        metric, arguments = parsed.definition, parsed.arguments
        return expr_of(metric, self._label, arguments, options, share)


def expr(label: Column) -> ExprRankEval:
    """Return the metrics of a label: ``label.rank_eval``, as type checkers know it.

    Parameters
    ----------
    label
        The column of grades, or an expression.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame({"score": [0.9, 0.8], "label": [0, 1]})
    >>> log.select(pr.expr("label").rr("score")).item()
    0.5
    """
    return ExprRankEval(as_expr(label))


class _Method:
    """A metric as a method, built when it is first asked for.

    Signatures and documentation of all methods would take half the time of the import.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def __get__(
        self, receiver: ExprRankEval | None, owner: type[ExprRankEval]
    ) -> Callable[..., pl.Expr]:
        built = method(self._metric)
        setattr(owner, self._metric.name, built)  # this object has done its work
        return built if receiver is None else MethodType(built, receiver)


for _metric in of_vocabulary("ranking").values():
    setattr(ExprRankEval, _metric.name, _Method(_metric))
