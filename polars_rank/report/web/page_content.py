"""The queries and documents that a page shows, as plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import require_columns
from polars_rank._statistics.intervals import interval

LISTED = 10_000  # queries in the table
ABOUT = ["title", "url"]
LABELS = ["baseline_label", "label"]
NAMED = 3  # queries that a note names


@dataclass(frozen=True)
class OfValues:
    """What the values of two systems tell, without documents, in the form of reasons.

    The attributes are those of :class:`polars_rank.analysis.Reasons`.
    """

    summary: pl.DataFrame
    segments: pl.DataFrame | None
    queries: pl.DataFrame
    documents: pl.DataFrame
    settings: dict[str, Any]
    notes: Sequence[str] = ()

    def largest(self, n_parts: int) -> pl.DataFrame | None:
        """Return None: what became of documents is unknown."""


@dataclass(frozen=True)
class Asked:
    """What is shown of queries and documents, and how much of it."""

    query: Sequence[str]
    by: Sequence[str]
    about_documents: pl.LazyFrame | None
    about_queries: pl.LazyFrame | None
    title: str | None
    text: str | None
    url: str | None
    max_queries: int
    max_documents: int

    def require(self, doc: str) -> None:
        """Check that the named columns are there."""
        for frame, keys, given, where in (
            (self.about_documents, [doc], (self.title, self.url), "about_documents"),
            (self.about_queries, self.query, (self.text,), "about_queries"),
        ):
            wanted = [name for name in given if name is not None]
            if wanted and frame is None:
                msg = f"the column {wanted[0]!r} is taken from {where}=: give it, too"
                raise ValueError(msg)
            if frame is not None:
                schema = frame.collect_schema()
                require_columns([*keys, *wanted], schema, where=where, argument=where)


def identified(names: Sequence[str]) -> pl.Expr:
    """Return the id of a query as text; several columns make up one."""
    parts = [pl.col(name).cast(pl.String).fill_null("null") for name in names]
    return pl.concat_str(parts, separator=" / ")


def of_values(comparison: Any) -> list[tuple[OfValues, list[str]]]:
    """Return what the values of queries tell, and the names of each pair of systems.

    A comparison of moments holds no values, and unpaired ones have no differences.
    """
    values = comparison.values
    if values is None or not values.paired:
        return []
    names = dict(zip(values.by, values.columns.segments, strict=True))
    weight = pl.lit(1.0) if values.columns.weight is None else pl.col("weight")
    about = values.ordered.with_columns(scale=weight.cast(pl.Float64))
    about = about.select(*names, "scale").rename(names)
    chosen = comparison.pairs.select("measure", "baseline", "system")
    found = []
    for measure, *pair in chosen.unique(maintain_order=True).rows():
        rows = values.differences([tuple(pair)], measure)
        more = about.drop(rows.columns, strict=False)
        rows = pl.concat([rows, more], how="horizontal").drop_nulls("difference")
        found.append((_of_pair(comparison, rows, measure), pair))
    return found


def _of_pair(comparison: Any, rows: pl.DataFrame, measure: str) -> OfValues:
    """Return what the values of a pair of systems tell of a measure."""
    columns, ends = comparison.values.columns, ("lower", "upper")
    scale = pl.col("scale") / pl.col("scale").mean()
    rows = rows.with_columns(scale=scale, contribution=scale * pl.col("difference"))
    about = [*dict.fromkeys([*columns.keys, *columns.segments])]
    values = ["baseline_value", "value", "difference", "contribution"]
    means = rows.select((pl.col(values[:3]) * pl.col("scale")).mean())
    old, new, difference = means.row(0)
    whole = {"part": "difference", "item": "difference", "difference": difference}
    known: dict[str, Any] = dict.fromkeys(ends)
    if not columns.segments:
        labels = rows.select("measure", "baseline", "system").head(1)
        pair = comparison.pairs.join(labels, on=labels.columns, how="semi")
        known = pair.select(ends).row(0, named=True)
    elif columns.cluster is None:  # the pairs are of segments
        known = _interval(rows, comparison.settings["level"])
    queries = rows.select(*about, *values)
    empty = {"baseline_rank": pl.UInt32, "rank": pl.UInt32, "kind": pl.String}
    empty |= {"label": pl.Float64, "contribution": pl.Float64}
    return OfValues(
        summary=pl.DataFrame([{**whole, "share": 1.0, **known}]),
        segments=_by_segments(rows, columns.segments) if columns.segments else None,
        queries=queries,
        documents=queries.head(0).select(
            *columns.keys,
            pl.lit(None, pl.String).alias("doc_id"),
            *(pl.lit(None, dtype).alias(name) for name, dtype in empty.items()),
        ),
        settings={
            "measure": measure,
            "k": None,
            "level": comparison.settings["level"],
            "baseline_mean": old,
            "mean": new,
        },
    )


def _interval(rows: pl.DataFrame, level: float) -> dict[str, Any]:
    """Return the interval of the weighted mean difference, as ``compare`` has it."""
    mean, n = pl.col("contribution").mean(), pl.len()
    apart = pl.col("scale") * (pl.col("difference") - mean)
    error = ((apart**2).sum() / (n * (n - 1.0))).sqrt()
    error = pl.when(n > 1).then(error)
    lower, upper = interval(mean, error, n - 1, level=level)
    return rows.select(lower=lower, upper=upper).row(0, named=True)


def _by_segments(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return what each segment adds: all within, since both have the same queries."""
    weight = pl.col("scale")
    old, new = (
        (weight * pl.col(value)).sum() / weight.sum()
        for value in ("baseline_value", "value")
    )
    within = pl.col("contribution").sum() / len(rows)
    found = rows.group_by(by).agg(
        queries=pl.len(),
        baseline_mean=old,
        mean=new,
        difference=new - old,
        share=weight.sum() / len(rows),
        within=within,
        mix=pl.lit(0.0),
        contribution=within,
    )
    return found.sort(by)


def queries_of(queries: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    """Return the queries that moved the mean most first, with segments and texts."""
    segments = [pl.col(n).cast(pl.String).fill_null("-") for n in asked.by]
    by = pl.concat_list(segments) if segments else pl.lit([], pl.List(pl.String))
    found = queries.with_columns(
        pl.col("contribution").fill_nan(None), id=identified(asked.query), segment=by
    )
    found = found.with_columns(size=pl.col("contribution").abs())
    found = found.sort("size", "id", descending=[True, False], nulls_last=True)
    found = found.head(LISTED)
    text: pl.Expr = pl.lit(None, pl.String).alias("text")
    if asked.text is not None and asked.about_queries is not None:
        ids = asked.about_queries.select(
            identified(asked.query).alias("id"),
            pl.col(asked.text).cast(pl.String).alias("text"),
        ).unique("id", keep="first")
        joined = found.lazy().join(ids, on="id", how="left", maintain_order="left")
        found, text = joined.collect(engine="streaming"), pl.col("text")
    return found.select(
        *asked.query,
        "id",
        "segment",
        pl.col("baseline_value").alias("before"),
        pl.col("value").alias("after"),
        "difference",
        "contribution",
        *(n for n in ("label_effect",) if n in queries.columns),
        text,
    )


def documents_of(
    documents: AnyFrame, queries: pl.DataFrame, asked: Asked, doc: str
) -> pl.DataFrame:
    """Return the first documents of the queries that moved most."""
    chosen = queries.head(asked.max_queries).lazy().select(*asked.query, "id")
    rank = pl.min_horizontal("baseline_rank", "rank")
    labels = [n for n in LABELS if n in documents.collect_schema()]
    found = (
        documents.lazy()
        .join(chosen, on=[*asked.query], nulls_equal=True)
        .filter(rank <= asked.max_documents)
        .select(
            "id",
            pl.col(doc).cast(pl.String).alias("doc"),
            "baseline_rank",
            "rank",
            "kind",
            *labels,
            "contribution",
        )
    )
    known = asked.about_documents
    columns = [
        pl.lit(None, pl.String).alias(name)
        if column is None
        else pl.col(column).cast(pl.String).alias(name)
        for name, column in zip(ABOUT, (asked.title, asked.url), strict=True)
    ]
    if known is None:
        found = found.with_columns(columns)
    else:
        about = known.select(pl.col(doc).cast(pl.String).alias("doc"), *columns)
        about = about.join(found.select("doc").unique(), on="doc", how="semi")
        about = about.unique("doc", keep="first")
        found = found.join(about, on="doc", how="left")
    return found.sort("id", "rank", "baseline_rank", "doc", nulls_last=True).collect(
        engine="streaming"
    )


def holes_of(
    documents: AnyFrame, asked: Asked, k: int | None, names: Sequence[str]
) -> list[str]:
    """Tell which queries have no list in a run, and how many documents are unjudged."""
    ranks = {"baseline_rank": names[0], "rank": names[1]}
    top = "in the lists" if k is None else f"among the first {k}"
    judged = pl.col("label").is_not_null()
    known = documents.lazy().filter(pl.any_horizontal(pl.col(*ranks).is_not_null()))
    counts = known.group_by(asked.query).agg(
        *(pl.col(rank).is_not_null().any() for rank in ranks),
        *(
            (~judged & (pl.col(rank).is_not_null() if k is None else pl.col(rank) <= k))
            .sum()
            .alias(f"unjudged {rank}")
            for rank in ranks
        ),
    )
    found = counts.select(pl.exclude(asked.query), id=identified(asked.query))
    queries = found.sort("id").collect(engine="streaming")
    told = []
    for rank, run in ranks.items():
        gone = queries.filter(~pl.col(rank))["id"]
        if len(gone):
            some = ", ".join(gone.head(NAMED)) + ", ..." * (len(gone) > NAMED)
            plural = "queries" if len(gone) > 1 else "query"
            told.append(f"{run} has no list for {len(gone)} {plural}: {some}.")
    unjudged = [int(queries[f"unjudged {rank}"].sum()) for rank in ranks]
    if any(unjudged):
        both = " and ".join(
            f"{n} in {run}" for n, run in zip(unjudged, names, strict=True)
        )
        told.append(f"Documents that nobody has judged, {top}: {both}.")
    return told


def unjudged_of(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the unjudged documents of the page, the highest ranks first."""
    rank = pl.min_horizontal("baseline_rank", "rank")
    found = documents.filter(pl.col("label").is_null())
    found = found.select(pl.col("id").alias("query_id"), doc_id="doc", rank=rank)
    return found.sort("rank", "query_id", "doc_id")


def columns_of(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Return plain lists, by column: numbers that are not finite are null."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    finite = [
        pl.when(pl.col(n).is_finite()).then(pl.col(n).round_sig_figs(9)).alias(n)
        for n in floats
    ]
    return frame.with_columns(finite).to_dict(as_series=False)
