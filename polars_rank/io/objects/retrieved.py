"""Retrieved documents, whatever object holds one: its id, and perhaps its score."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

from polars_rank.exceptions import DataError, DataWarning


class Retrieved(NamedTuple):
    """Documents in the order of their list; ``scores`` are None where none has one."""

    ids: list[Any]
    scores: list[float | None] | None


def retrieved(given: Any, where: str) -> Retrieved:
    """Read documents in rank order: a list, tuple, array or Series."""
    if isinstance(given, Set):
        msg = f"{where}: a set of documents has no order; give a list in rank order"
        raise TypeError(msg)
    if not is_list(given):
        msg = f"{where}: the documents must be a list in rank order, not {given!r}"
        raise TypeError(msg)
    return _read_all(given, where)


def relevant(given: Any, where: str) -> Retrieved:
    """Read documents in any order: a set, a list, or a single one."""
    if isinstance(given, Set):  # in an order that does not change with the hash
        return _read_all(sorted(given, key=str), where)
    return _read_all(given if is_list(given) else [given], where)


def is_list(value: object) -> bool:
    """Return whether it lists values in an order: a list, tuple, array or Series."""
    return isinstance(value, list | tuple) or (
        len(getattr(value, "shape", ())) == 1 and hasattr(value, "__iter__")
    )


def _read_all(items: Iterable[Any], where: str) -> Retrieved:
    """Read the ids and scores of documents.

    An item is an id, a pair of a document and its score, LlamaIndex's ``NodeWithScore``
    (``node.node_id``, ``score``), or a document with an ``id``, such as LangChain's and
    Haystack's. ``where`` names the list in messages.
    """
    found = [_read(item, where) for item in items]
    scored = any(score is not None for _, score in found)
    scores = [score for _, score in found] if scored else None
    return Retrieved([id for id, _ in found], scores)


def _read(item: Any, where: str) -> tuple[Any, float | None]:
    if isinstance(item, tuple | list):
        if len(item) == 2 and is_number(item[1]):
            return _id_of(item[0], where), float(item[1])
        msg = (
            f"{where}: a document is an id, an object with an id, or a pair of it and "
            f"its score, not {item!r}"
        )
        raise TypeError(msg)
    score: Any = getattr(item, "score", None)
    return _id_of(item, where), float(score) if is_number(score) else None


def is_number(value: object) -> bool:
    """Return whether it is a number, of Python or of any array library."""
    if isinstance(value, bool | str | bytes) or value is None:
        return False
    return isinstance(value, Real) or (hasattr(value, "__float__") and _single(value))


def _single(value: object) -> bool:
    return getattr(value, "ndim", 0) == 0


def _id_of(document: Any, where: str) -> Any:
    whole = isinstance(document, Integral) and not isinstance(document, bool)
    if whole or isinstance(document, str | bytes):
        return document.item() if hasattr(document, "item") else document
    node = getattr(document, "node", document)
    id = getattr(node, "node_id", getattr(node, "id", None))
    if id is None:
        msg = (
            f"{where}: the id of a document must be text or a whole number, or an "
            f"attribute of it; {document!r:.60} has none: take ids of your own, e.g. "
            "[d.metadata['source'] for d in documents]"
        )
        raise TypeError(msg)
    return id


def named_scores(
    lists: Sequence[Sequence[float | None] | None], queries: Sequence[Any], where: str
) -> str:
    """Name the column of the scores of lists in rank order.

    Scores that never rise are ``score``; those that never fall are a ``distance``, as
    of many vector stores, and must not be taken for scores.
    """
    falls = rises = None
    for query, scores in zip(queries, lists, strict=True):
        known = [s for s in scores or () if s is not None]
        pairs = list(pairwise(known))
        falls = query if falls is None and any(a > b for a, b in pairs) else falls
        rises = query if rises is None and any(a < b for a, b in pairs) else rises
    if rises is None:
        return "score"
    if falls is None:
        return "distance"
    msg = (
        f"{where}: scores fall along the list of query {falls!r} and rise along that "
        f"of {rises!r}, so not all are in rank order; sort them, or give ids alone"
    )
    raise DataError(msg, rule="scores_not_in_rank_order", examples=[falls, rises])


def warn_of_no_document(sizes: Mapping[Any, int], name: str) -> None:
    """Tell of judged queries without a row, since every row is of a document."""
    nothing = [query for query, size in sizes.items() if not size]
    if nothing and len(nothing) < len(sizes):
        text = (
            f"{name}: {len(nothing)} of {len(sizes)} queries "
            f"{'names' if len(nothing) == 1 else 'name'} no document, e.g. "
            f"{nothing[0]!r}, and {'is' if len(nothing) == 1 else 'are'} left out; a "
            "document with label 0 says that nothing is relevant"
        )
        warnings.warn(text, DataWarning, stacklevel=2)
