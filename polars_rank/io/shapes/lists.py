"""Queries of one row each, with lists of documents, as one row per document."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import polars as pl

from polars_rank.core.metric.registry import closest
from polars_rank.core.source import (
    batches_of,
    is_rereadable,
    lazy_source,
    without_pushdown,
)
from polars_rank.exceptions import DataError, DataWarning
from polars_rank.io.frames import EagerFrameLike, FrameLike, as_polars
from polars_rank.io.objects.list_rows import frame_of_lists, is_rows
from polars_rank.io.unreadable import damage_named

LEFT_OUT = (
    "left out: null in {!r} says that nothing is known; an empty list says that "
    "nothing is relevant"
)


@overload
def from_lists(
    frame: pl.LazyFrame,
    *,
    query: str = "query_id",
    retrieved: str = "retrieved",
    relevant: str = "relevant",
    scores: str | None = None,
    labels: str | None = None,
) -> tuple[pl.LazyFrame, pl.LazyFrame]: ...
@overload
def from_lists(
    frame: EagerFrameLike,
    *,
    query: str = "query_id",
    retrieved: str = "retrieved",
    relevant: str = "relevant",
    scores: str | None = None,
    labels: str | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]: ...
def from_lists(
    frame: FrameLike,
    *,
    query: str = "query_id",
    retrieved: str = "retrieved",
    relevant: str = "relevant",
    scores: str | None = None,
    labels: str | None = None,
) -> tuple[pl.LazyFrame, pl.LazyFrame] | tuple[pl.DataFrame, pl.DataFrame]:
    """Make a run and judgments from lists of documents, one row per query.

    Parameters
    ----------
    frame
        One row per query: lists of documents. Rows that are dictionaries, or a
        dictionary of columns, may hold documents of other libraries in ``retrieved``:
        objects with an id, pairs of a document and its score (LangChain), nodes with a
        score (LlamaIndex).
    query, retrieved, relevant
        Its columns: the query, the documents in rank order, the relevant documents.
    scores, labels
        Columns with a list of scores for ``retrieved``, and of grades for ``relevant``.
        Without ``labels``, every grade is 1.

    Returns
    -------
    The run, with ``query``, ``doc_id``, ``rank`` (and ``score``), and the judgments,
    with ``query``, ``doc_id`` and ``label``: LazyFrames for a LazyFrame, DataFrames
    otherwise. Scores of objects that rise along their lists are called ``distance``.
    A query with nothing in ``retrieved`` has no rows in the run; ``missing=`` sets its
    value. A query with an empty list in ``relevant`` is judged, with nothing relevant:
    the first retrieved document has label 0, and ``no_relevant=`` sets the value. A
    null in ``relevant`` means that nothing is known: the query is left out.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for a column that is named twice, does not exist or has no lists.
    DataError
        For scores or labels of another length than their documents, and for a query
        with several rows; with a LazyFrame, when it is collected (its query ids are
        then held in memory).

    Warns
    -----
    DataWarning
        Queries are left out because ``relevant`` is null; with a LazyFrame, when it is
        collected.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> lists = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 2],
    ...         "retrieved": [["a", "b"], ["c"]],
    ...         "relevant": [["b"], []],
    ...     }
    ... )
    >>> run, qrels = pr.from_lists(lists)
    >>> pr.per_query(run, "rr", qrels=qrels).rows()
    [(1, 0.5), (2, 0.0)]
    >>> pr.per_query(run, "rr", qrels=qrels, no_relevant="skip").rows()
    [(1, 0.5), (2, None)]
    """
    roles = {"query": query, "retrieved": retrieved, "relevant": relevant}
    roles |= {} if scores is None else {"scores": scores}
    roles |= {} if labels is None else {"labels": labels}
    for role, name in roles.items():
        others = [other for other in roles if roles[other] == name and other != role]
        if others:
            msg = (
                f"{role} and {others[0]} are both column {name!r}; name a column for "
                "each of them"
            )
            raise ValueError(msg)
    scored = None  # the column of scores that the documents themselves have
    if is_rows(frame):
        frame, scored = frame_of_lists(frame, roles)
        roles |= {} if scored is None else {"scores": scored}
    given = as_polars(frame, name="the first argument", columns=[*roles.values()])
    rows = _listed(given.lazy(), roles)
    for documents, values in (("retrieved", "scores"), ("relevant", "labels")):
        if values in roles:
            rows = _of_one_length(rows, roles, documents, values)
    if isinstance(frame, pl.LazyFrame):
        judged = _checked_as_read(rows, query, relevant)
        plan = _run(_checked_as_read(rows, query), roles, "score")
        return plan, _qrels(judged, roles)
    held = rows.collect()
    _require_one_row_each(held[query])
    _warn_of_unjudged(held[relevant])
    lists = held.lazy()
    plans = _run(lists, roles, scored or "score"), _qrels(lists, roles)
    pair = pl.collect_all(plans)
    return pair[0], pair[1]


def _listed(rows: pl.LazyFrame, roles: Mapping[str, str]) -> pl.LazyFrame:
    """Return the columns, checked: lists, of documents of one kind."""
    schema = rows.collect_schema()
    kept, inner = [pl.col(roles["query"])], {}
    for role, name in roles.items():
        if name not in schema:
            known = ", ".join(map(repr, schema)) or "none"
            near = closest(name, [*schema]) or "."
            msg = (
                f"{role} column {name!r} is not in the frame of lists{near} "
                f"Its columns are: {known}. Name yours with {role}=."
            )
            raise pl.exceptions.ColumnNotFoundError(msg)
        if role == "query":
            continue
        dtype, column = schema[name], pl.col(name)
        if isinstance(dtype, pl.Array):
            column, dtype = column.arr.to_list(), pl.List(dtype.inner)
        elif dtype == pl.Null:
            column, dtype = column.cast(pl.List(pl.Null)), pl.List(pl.Null)
        if not isinstance(dtype, pl.List):
            msg = (
                f"{role} {name!r} must be a column of lists, one list per query, not "
                f"{dtype}; wrap single values with pl.concat_list({name!r}), or parse "
                f"text, e.g. with pl.col({name!r}).str.json_decode(pl.List(pl.String))"
            )
            raise TypeError(msg)
        kept.append(column.alias(name))
        inner[role] = dtype.inner
    kinds = [inner["retrieved"], inner["relevant"]]
    for role, kind in zip(("retrieved", "relevant"), kinds, strict=True):
        if isinstance(kind, pl.Struct):
            name, fields = roles[role], ", ".join(repr(f.name) for f in kind.fields)
            msg = (
                f"{role} {name!r} must hold ids of documents, not structs with the "
                f"fields {fields}; take the field of the id, e.g. with "
                f"pl.col({name!r}).list.eval(pl.element().struct.field(...))"
            )
            raise TypeError(msg)
    texts = [kind in (pl.String, pl.Categorical, pl.Enum) for kind in kinds]
    if pl.Null not in kinds and kinds[0] != kinds[1] and texts[0] != texts[1]:
        msg = (
            f"documents are {kinds[0]} in {roles['retrieved']!r} but {kinds[1]} in "
            f"{roles['relevant']!r}, and these are never equal; cast one of them, e.g. "
            "with pl.col(...).cast(pl.List(pl.String))"
        )
        raise TypeError(msg)
    documents = [roles["retrieved"], roles["relevant"]]
    missing = [n for n, k in zip(documents, kinds, strict=True) if k == pl.Null]
    one = next((k for k in kinds if k != pl.Null), pl.String())
    return rows.select(kept).with_columns(pl.col(missing).cast(pl.List(one)))


def _run(rows: pl.LazyFrame, roles: Mapping[str, str], called: str) -> pl.LazyFrame:
    retrieved = pl.col(roles["retrieved"])
    ranks = pl.int_ranges(1, retrieved.list.len() + 1, dtype=pl.Int64)
    columns = {"doc_id": retrieved, "rank": ranks}
    if "scores" in roles:
        columns[called] = pl.col(roles["scores"])
    some = rows.filter(retrieved.list.len() > 0).select(roles["query"], **columns)
    return some.explode(*columns, empty_as_null=True)


def _qrels(rows: pl.LazyFrame, roles: Mapping[str, str]) -> pl.LazyFrame:
    retrieved, relevant = pl.col(roles["retrieved"]), pl.col(roles["relevant"])
    grades = relevant.list.eval(pl.lit(1, pl.UInt8))
    if "labels" in roles:
        grades = pl.col(roles["labels"])
    grade = rows.select(grades).collect_schema().dtypes()[0]
    document = rows.select(relevant).collect_schema().dtypes()[0]
    nothing = relevant.list.len() == 0
    first = retrieved.list.first()
    first = pl.coalesce(first, first.drop_nulls().first())  # any, if it has none
    columns = {
        "doc_id": pl.when(nothing)
        .then(pl.concat_list(first).cast(document))
        .otherwise(relevant),
        "label": pl.when(nothing)
        .then(pl.concat_list(pl.lit(0)).cast(grade))
        .otherwise(grades),
    }
    some = rows.select(roles["query"], **columns)
    some = some.filter(pl.col("doc_id").list.len() > 0)
    return some.explode(*columns, empty_as_null=True)


def _of_one_length(
    rows: pl.LazyFrame, roles: Mapping[str, str], documents: str, values: str
) -> pl.LazyFrame:
    """Raise ``DataError``, when collected, where two lists differ in length."""
    names = roles[documents], roles[values]

    def same(columns: Sequence[pl.Series]) -> pl.Series:
        queries, *sizes = columns
        wrong = sizes[0] != sizes[1]
        if count := int(wrong.sum()):
            first = wrong.arg_max() or 0
            msg = (
                f"{names[1]!r} must have a value for each document of {names[0]!r}: "
                f"the lengths of the lists differ in {count} "
                f"{'query' if count == 1 else 'queries'}, e.g. in query "
                f"{queries[first]!r}: {sizes[1][first]} and {sizes[0][first]}"
            )
            examples = queries.filter(wrong).head(3).to_list()
            raise DataError(msg, rule="list_lengths", count=count, examples=examples)
        return ~wrong

    sizes = (pl.col(name).list.len().fill_null(0) for name in names)
    return rows.filter(
        pl.map_batches(
            [pl.col(roles["query"]), *sizes],
            same,
            return_dtype=pl.Boolean,
            is_elementwise=True,
        )
    )


def _require_one_row_each(queries: pl.Series) -> None:
    twice = queries.filter(queries.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        shown = ", ".join(map(repr, twice.head(3)))
        msg = (
            f"query {queries.name!r} must have one row per query, but "
            f"{len(twice)} {'has' if len(twice) == 1 else 'have'} several, e.g. "
            f"{shown}; give each row an id of its own, e.g. with .with_row_index('id')"
        )
        raise DataError(
            msg,
            rule="duplicate_query",
            count=len(twice),
            examples=twice.head(3).to_list(),
        )


def _warn_of_unjudged(lists: pl.Series) -> None:
    if count := lists.null_count():
        verb = "is" if count == 1 else "are"
        left_out = LEFT_OUT.format(lists.name)
        text = f"{count} of {len(lists)} queries {verb} {left_out}"
        warnings.warn(text, DataWarning, stacklevel=3)


def _checked_as_read(
    rows: pl.LazyFrame, query: str, relevant: str | None = None
) -> pl.LazyFrame:
    """Return the rows, and what is wrong with them as soon as all have been read.

    With ``relevant``, also which queries are left out. Ids and nulls are kept.
    """
    asked = [query] if relevant is None else [query, relevant]

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        kept = [no_rows]
        with damage_named([rows]):
            wanted = rows.select(*dict.fromkeys([*asked, *columns]))
            for batch in batches_of(wanted):
                kept.append(batch.select(checked))
                yield batch
        seen = pl.concat(kept)
        _require_one_row_each(seen[query])
        if relevant is not None:
            _warn_of_unjudged(seen[relevant])

    checked = [pl.col(query)]
    if relevant is not None:  # whether it is null; the list itself is not kept
        checked.append(
            pl.when(pl.col(relevant).is_not_null()).then(True).alias(relevant)
        )
    schema = rows.collect_schema()
    no_rows = pl.DataFrame(schema=schema).select(checked)
    source = lazy_source(
        read,
        schema,
        name="one row per query",
        drain=True,
        rereadable=is_rereadable(rows),
    )
    return without_pushdown(source)
