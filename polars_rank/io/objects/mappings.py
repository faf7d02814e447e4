"""Dictionaries and rows of Python as frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, repeat
from numbers import Integral
from typing import Any, Literal

import polars as pl

from polars_rank.io.objects.exports import read_export
from polars_rank.io.objects.retrieved import (
    is_list,
    named_scores,
    relevant,
    retrieved,
    warn_of_no_document,
)

USUAL = {
    "run": ("query_id", "doc_id", "score"),
    "qrels": ("query_id", "doc_id", "label"),
}
OURS = {"query_id", "doc_id", "score", "label", "rank"}
FORMS = {
    "run": "{query: {document: score}} or {query: [document, ...]} in rank order",
    "qrels": "{query: {document: label}}, or {query: documents} if all are relevant",
}
Kind = Literal["run", "qrels"]


def from_rows(rows: Iterable[Mapping[str, Any]], name: str) -> pl.DataFrame:
    """Make a frame of rows, each a dictionary; absent values are null."""
    held = list(rows)
    for number, row in enumerate(held, 1):
        if not isinstance(row, Mapping):
            msg = (
                f"{name}: every row must be a dictionary of columns, not {row!r:.60} "
                f"(row {number})"
            )
            raise TypeError(msg)
    try:
        return pl.from_dicts(held, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError) as error:
        msg = f"{name}: the rows make no frame: {error}"
        raise TypeError(msg) from error


def from_mapping(
    source: Mapping[Any, Any], name: str, columns: Sequence[str], kind: Kind
) -> pl.DataFrame:
    """Make a frame of a dictionary: of queries, of columns, or a tool's export.

    ``columns`` are the names of the three columns of ``{query: {document: value}}``.
    With one name, it has attributes: ``{query: {column: value}}``.
    """
    exported = read_export(source, name)
    if exported is not None:
        return exported
    values = list(source.values())
    _require_no_table(source, name, columns or USUAL[kind])
    if all(isinstance(value, Mapping) for value in values):  # perhaps none
        return _from_dictionaries(source, name, columns or USUAL[kind], kind)
    if not OURS.isdisjoint(map(str, source)) or not set(columns).isdisjoint(source):
        return _of_columns(source, name)
    if len(columns) == 1 or any(isinstance(value, Mapping) for value in values):
        raise TypeError(_no_form(name, kind))
    names = _three(columns or USUAL[kind], name)
    return (_from_lists if kind == "run" else _from_sets)(source, name, names)


def _require_no_table(
    source: Mapping[Any, Any], name: str, columns: Sequence[str]
) -> None:
    """Refuse forms of ``to_dict()`` and ``to_json()`` of pandas that look like queries.

    They are ``{column: {index: value}}``, ``{index: {column: value}}``, and
    ``{"columns": [...], "index": [...], "data": [...]}``.
    """
    ids = set(columns[:2])
    inner = [value for value in source.values() if isinstance(value, Mapping)]
    all_inner = len(inner) == len(source)
    if all_inner and len(columns) == 3 and ids <= source.keys():
        form = f"the columns {', '.join(map(repr, columns[:2]))} as its keys"
    elif len(columns) == 3 and any(ids <= value.keys() for value in inner):
        form = f"the columns {', '.join(map(repr, columns[:2]))} in a value"
    elif {"columns", "data"} <= source.keys() and is_list(source["data"]):
        form = "the keys 'columns' and 'data'"
    else:
        return
    msg = (
        f"{name}, a dictionary, has {form}, as to_dict() and to_json() of pandas write "
        "a table; give the frame itself, to_dict('list') or to_dict('records')"
    )
    raise TypeError(msg)


def names_nothing(source: Mapping[Any, Any]) -> bool:
    """Return whether a dictionary has no document, so that its ids have no type."""
    return all(hasattr(v, "__len__") and not len(v) for v in source.values())


def _of_columns(source: Mapping[Any, Any], name: str) -> pl.DataFrame:
    try:
        return pl.DataFrame(source, strict=False)
    except (pl.exceptions.PolarsError, TypeError) as error:
        ours = ", ".join(repr(key) for key in source if key in OURS)
        msg = (
            f"{name}, a dictionary of columns, since {ours or 'a key'} names one, "
            f"makes no frame: {error}. If its keys are queries, give rows or a frame."
        )
        raise TypeError(msg) from error


def _from_lists(
    source: Mapping[Any, Any], name: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Make a run of ``{query: [document, ...]}``: a document's rank is its place."""
    if not any(isinstance(v, Set) or is_list(v) for v in source.values()):
        raise TypeError(_no_form(name, "run"))
    read = [
        retrieved(documents, f"{name}, query {query!r}")
        for query, documents in source.items()
    ]
    query, doc, _ = columns
    ids = list(chain.from_iterable(one.ids for one in read))
    frame = {
        query: _of_one_type(f"{name}: query ids", _repeated(source, read)),
        doc: _of_one_type(f"{name}: document ids", ids),
        "rank": pl.Series(
            list(chain.from_iterable(range(1, len(one.ids) + 1) for one in read)),
            dtype=pl.Int64,
        ),
    }
    if any(one.scores is not None for one in read):
        called = named_scores([one.scores for one in read], list(source), name)
        lists = (one.scores or [None] * len(one.ids) for one in read)
        frame[called] = pl.Series(list(chain.from_iterable(lists)), dtype=pl.Float64)
    return pl.DataFrame(frame)


def _from_sets(
    source: Mapping[Any, Any], name: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Make judgments of ``{query: {document, ...}}``, a list or a single document.

    Where documents come with numbers, ``(document, label)``, these are their labels.
    """
    read = [
        relevant(documents, f"{name}, query {query!r}")
        for query, documents in source.items()
    ]
    sizes = [len(one.ids) for one in read]
    warn_of_no_document(dict(zip(source, sizes, strict=True)), name)
    query, doc, label = columns
    ids = list(chain.from_iterable(one.ids for one in read))
    labels: list[float | None] = [1] * len(ids)
    if any(one.scores is not None for one in read):
        labels = list(
            chain.from_iterable(one.scores or [None] * len(one.ids) for one in read)
        )
        if None in labels:
            msg = (
                f"{name}: some documents have a label, as in (document, label), and "
                f"others have none, e.g. {ids[labels.index(None)]!r}; give all or none"
            )
            raise TypeError(msg)
    return pl.DataFrame(
        {
            query: _of_one_type(f"{name}: query ids", _repeated(source, read)),
            doc: _of_one_type(f"{name}: document ids", ids),
            label: pl.Series(labels),
        }
    )


def _repeated(queries: Iterable[Any], lists: Sequence[Any]) -> list[Any]:
    sizes = (len(getattr(one, "ids", one)) for one in lists)
    return list(chain.from_iterable(map(repeat, queries, sizes)))


def _from_dictionaries(
    source: Mapping[Any, Mapping[Any, Any]],
    name: str,
    columns: Sequence[str],
    kind: Kind,
) -> pl.DataFrame:
    if len(columns) == 1:
        return pl.from_dicts(
            [{columns[0]: query, **values} for query, values in source.items()]
        )
    query, doc, value = _three(columns, name)
    inner = list(source.values())
    if kind == "qrels":
        warn_of_no_document({q: len(docs) for q, docs in source.items()}, name)
    if not any(inner):
        dtypes = (pl.String, pl.String, pl.Float64)
        return pl.DataFrame(schema=dict(zip((query, doc, value), dtypes, strict=True)))
    values = list(chain.from_iterable(documents.values() for documents in inner))
    floats = any(isinstance(v, float) for v in values)  # among integers, perhaps
    if floats:
        _require_exact(values, name)
    documents = list(chain.from_iterable(inner))
    return pl.DataFrame(
        {
            query: _of_one_type(f"{name}: query ids", _repeated(source, inner)),
            doc: _of_one_type(f"{name}: document ids", documents),
            value: _of_one_type(
                f"{name}: values", values, pl.Float64 if floats else None
            ),
        }
    )


def _require_exact(values: Iterable[Any], name: str) -> None:
    """Refuse integers that would be other numbers as floats, and perhaps equal ones."""
    for value in values:
        if isinstance(value, Integral) and int(float(value)) != value:
            msg = (
                f"{name}: values are integers and floats, and the integer {value} is "
                "none as a float, so values that differ could be equal; give all as "
                "integers or all as floats"
            )
            raise TypeError(msg)


def _three(columns: Sequence[str], name: str) -> Sequence[str]:
    if len(columns) != 3:
        msg = (
            f"{name}: a dictionary {{query: {{document: value}}}} has one column of "
            "queries, but query= names several columns; give a frame that has them"
        )
        raise ValueError(msg)
    return columns


def _no_form(name: str, kind: Kind) -> str:
    return (
        f"{name}, a dictionary, must be {FORMS[kind]}, or columns with the names "
        f"{', '.join(USUAL[kind])}; lists of documents, one row per query, go through "
        "pr.from_lists(...)"
    )


def _of_one_type(
    what: str, values: Sequence[Any], dtype: type[pl.DataType] | None = None
) -> pl.Series:
    try:
        return pl.Series(values, dtype=dtype)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in values})
        msg = f"{what} must be of one type, not of {' and '.join(kinds)}; convert them"
        raise TypeError(msg) from None
