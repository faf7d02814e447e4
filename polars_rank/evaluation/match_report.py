"""Report how the ids of a run and its judgments match, before evaluating."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.opening import by_rank_without_scores, open_run_and_qrels
from polars_rank._engine.schema import Column, bind_run_and_qrels, columns_by_role
from polars_rank.io.frames import FrameLike

TOP = 10


@frame_function
def match_report(
    run: FrameLike,
    qrels: FrameLike,
    *,
    query: Column | Sequence[Column] = "query_id",
    doc: Column = "doc_id",
    score: Column = "score",
    label: Column | None = "label",
    descending: bool = True,
    qrels_query: Column | Sequence[Column] | None = None,
    qrels_doc: Column | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Report how the ids of a run match those of its judgments: counts and shares.

    The parameters are those of :func:`per_query`.

    Returns
    -------
    A frame like ``run`` with the rows: ``queries in both``, ``queries only in the
    run``, ``queries only in the judgments``, ``queries with nothing relevant`` (among
    the judged ones), ``run rows``, ``judgment rows``, ``judgments retrieved``; of those
    in both: ``unjudged share in the top 10`` (ties by document id, descending) and
    ``tied share`` (rows whose score occurs elsewhere in the query); and ``duplicates in
    the run`` and ``duplicates in the judgments`` (rows beyond the first of a document
    in a query). A share of nothing is null.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments, and for ids of different types.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> run = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"], "score": [1, 2]})
    >>> qrels = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    >>> pr.match_report(run, qrels).row(1)
    ('queries only in the run', 1.0)
    """
    columns = columns_by_role(
        query=query,
        doc=doc,
        score=score,
        label=label,
        rank=None,
        descending=descending,
        qrels_query=qrels_query,
        qrels_doc=qrels_doc,
    )
    frames = open_run_and_qrels(run, qrels, columns)
    of_run = by_rank_without_scores(columns[0], frames[0])
    if of_run.names["rank"] is not None:  # the first rank is the best
        of_run = of_run._replace(
            names={**of_run.names, "score": -pl.col("rank").cast(pl.Int64)}
        )
    ran, judged = bind_run_and_qrels(
        *frames,
        of_run,
        columns[1],
        run_roles=["score", "doc"],
        qrels_roles=["label", "doc"],
    )
    keys = [f"key{i}" for i in range(len(columns[0].query))]
    # The judgments are read twice, and a stream can be read only once.
    return like_input(run, _report(ran, judged.cache(), keys))


def _report(ran: pl.LazyFrame, judged: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    documents = ran.join(
        judged.group_by([*keys, "doc"]).agg(pl.col("label").first()),
        on=[*keys, "doc"],
        how="left",
    )
    known = pl.col("label").is_not_null()
    in_run = (
        documents.sort(keys)
        .group_by(keys, maintain_order=True)
        .agg(
            rows=pl.len(),
            retrieved=known.sum(),
            copies=pl.len() - pl.col("doc").n_unique(),
            tied=pl.col("score").is_duplicated().sum(),
            top=pl.len().clip(upper_bound=TOP),
            unjudged=(~known)
            .sort_by(["score", pl.col("doc").cast(pl.String)], descending=True)
            .head(TOP)
            .sum(),
        )
    )
    in_qrels = judged.group_by(keys).agg(
        judgments=pl.len(),
        relevant=(pl.col("label") > 0).sum(),
        judged_copies=pl.len() - pl.struct("doc").n_unique(),
    )
    queries = in_run.join(in_qrels, on=keys, how="full", coalesce=True)
    both = pl.col("rows").is_not_null() & pl.col("judgments").is_not_null()
    facts = {
        "queries in both": both.sum(),
        "queries only in the run": pl.col("judgments").is_null().sum(),
        "queries only in the judgments": pl.col("rows").is_null().sum(),
        "queries with nothing relevant": (pl.col("relevant") == 0).sum(),
        "run rows": pl.col("rows").sum(),
        "judgment rows": pl.col("judgments").sum(),
        "judgments retrieved": pl.col("retrieved").sum(),
        "unjudged share in the top 10": _share("unjudged", "top", both),
        "tied share": _share("tied", "rows", both),
        "duplicates in the run": pl.col("copies").sum(),
        "duplicates in the judgments": pl.col("judged_copies").sum(),
    }
    return queries.select(
        value.cast(pl.Float64).alias(item) for item, value in facts.items()
    ).unpivot(variable_name="item", value_name="value")


def _share(part: str, whole: str, both: pl.Expr) -> pl.Expr:
    parts = pl.when(both).then(pl.col(part)).sum()
    wholes = pl.when(both).then(pl.col(whole)).sum()
    return pl.when(wholes > 0).then(parts / wholes)
