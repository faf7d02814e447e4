"""Judgments in the JSON of search engines, told by the keys that they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.objects.retrieved import warn_of_no_document

Path: TypeAlias = str  # of a value within the document, as in requests[3].ratings[0]


class Export(NamedTuple):
    """A document with judgments.

    ``queries`` finds the list of queries, None in another document. A query is called
    ``query`` in it; its list ``ratings`` has documents, called ``doc``, and their
    ``rating``. ``more`` are further columns, by their keys there.
    """

    tool: str
    queries: Callable[[Mapping[Any, Any]], tuple[Path, Any] | None]
    query: str
    doc: str
    more: Mapping[str, str]


def _of_workbench(document: Mapping[Any, Any]) -> tuple[Path, Any] | None:
    if "judgmentRatings" in document:
        return "judgmentRatings", document["judgmentRatings"]
    return None


def _of_search(document: Mapping[Any, Any]) -> tuple[Path, Any] | None:
    """Find the judgments that the API of the workbench answers with."""
    hits = document.get("hits")
    found = hits.get("hits") if isinstance(hits, Mapping) else None
    if not isinstance(found, list):
        return None
    sources = [h.get("_source") for h in found if isinstance(h, Mapping)]
    lists = [s for s in sources if isinstance(s, Mapping) and "judgmentRatings" in s]
    if not lists:
        return None
    if len(lists) > 1:
        names = ", ".join(repr(s.get("name", s.get("id"))) for s in lists[:5])
        msg = (
            f"holds {len(lists)} judgment lists ({names}); keep one of them, e.g. the "
            "answer of GET _plugins/_search_relevance/judgments/<id>"
        )
        raise DataError(msg, rule="several_lists", count=len(lists))
    return "judgmentRatings", lists[0]["judgmentRatings"]


def _of_requests(document: Mapping[Any, Any]) -> tuple[Path, Any] | None:
    requests = document.get("requests")
    if not isinstance(requests, list) or "query_id" in document:
        return None
    keys = {key for one in requests if isinstance(one, Mapping) for key in one}
    # Without ratings it is refused by name.
    return ("requests", requests) if keys & {"ratings", "request"} else None


EXPORTS = (
    Export("OpenSearch judgments", _of_workbench, "query", "docId", {}),
    Export("OpenSearch judgments", _of_search, "query", "docId", {}),
    Export("a _rank_eval request", _of_requests, "id", "_id", {"index": "_index"}),
)


def read_export(document: Mapping[Any, Any], name: str) -> pl.DataFrame | None:
    """Return the judgments of a tool's document as rows; None if it is of no tool."""
    for export in EXPORTS:
        try:
            found = export.queries(document)
            if found is not None:
                return _judgments(export, *found, name)
        except DataError as error:
            msg = f"{name}: {error}"
            raise DataError(
                msg, rule=error.rule, count=error.count, examples=error.examples
            ) from None
    return None


def _judgments(export: Export, path: Path, queries: Any, name: str) -> pl.DataFrame:
    rows = list(_rows(export, path, queries))
    sizes = dict.fromkeys((str(query[export.query]) for query in queries), 0)
    for row in rows:
        sizes[row[0]] += 1
    warn_of_no_document(sizes, name)
    text = pl.String()
    schema: dict[str, pl.DataType] = {"query_id": text, "doc_id": text}
    schema |= {"label": pl.Float64(), **dict.fromkeys(export.more, text)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rows(export: Export, path: Path, queries: Any) -> Iterator[tuple[Any, ...]]:
    """Yield query, document, label and what else there is."""
    for i, query in _items(queries, path, export):
        here = f"{path}[{i}]"
        id = _value(query, export.query, here, export)
        ratings = query.get("ratings")
        for j, rated in _items(ratings, f"{here}.ratings", export):
            place = f"{here}.ratings[{j}]"
            doc = _value(rated, export.doc, place, export)
            label = _number(_value(rated, "rating", place, export), place, export)
            more = (rated.get(key) for key in export.more.values())
            yield str(id), str(doc), label, *(m if m is None else str(m) for m in more)


def _items(
    given: Any, path: Path, export: Export
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise _wrong(path, f"must be a list, not {_shown(given)}", export)
    for i, item in enumerate(given):
        if not isinstance(item, Mapping):
            rule = f"must be an object, not {_shown(item)}"
            raise _wrong(f"{path}[{i}]", rule, export)
        yield i, item


def _value(item: Mapping[str, Any], key: str, path: Path, export: Export) -> Any:
    if item.get(key) is None:
        raise _wrong(path, f"has no {key!r}", export)
    return item[key]


def _number(value: Any, path: Path, export: Export) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not math.isfinite(number) or isinstance(value, bool):
        raise _wrong(path, f"the rating {_shown(value)} is not a number", export)
    return number


def _wrong(path: Path, rule: str, export: Export) -> DataError:
    rated = f"{{{export.doc!r}: ..., 'rating': 1}}"
    form = f"{{{export.query!r}: ..., 'ratings': [{rated}]}}"
    return DataError(
        f"{path}: {rule}. In {export.tool} a query has the form {form}; correct it, or "
        "take it out.",
        rule="malformed_json",
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
