"""Compare judgments with a reference, such as those of assessors."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import polars as pl

from polars_rank._engine.schema import Columns, align_ids, bind_columns, require_columns
from polars_rank.clicks.log.open_log import opened
from polars_rank.core.exact.aggregate import fsum
from polars_rank.core.expr import ratio
from polars_rank.core.words.binding import metric_expr
from polars_rank.exceptions import counted
from polars_rank.io.frames import FrameLike
from polars_rank.metrics.correlation import kendall_tau
from polars_rank.metrics.pairwise import auc

Disagreement: TypeAlias = Literal["linear", "quadratic", "none"]
COUNTS = ("pairs", "only_qrels", "only_reference", "queries")


def agreement(
    qrels: FrameLike,
    /,
    reference: FrameLike,
    *,
    weights: Disagreement = "linear",
    rel: float = 1,
    query: str = "query_id",
    doc: str = "doc_id",
    label: str = "label",
    reference_label: str | None = None,
) -> pl.DataFrame:
    """Compare judgments with a reference, on the documents that both have.

    Parameters
    ----------
    qrels, reference
        Frames of any library, or paths, with query, document and label; null: not
        judged.
    weights
        Weights of disagreement in Cohen's kappa: the difference of the grades
        (``"linear"``), its square (``"quadratic"``), or the same for all (``"none"``).
    rel
        Lowest relevant grade of ``reference``, for ``auc``.
    query, doc, label, reference_label
        Columns; ``reference_label`` is that of ``reference`` if it differs.

    Returns
    -------
    One row: ``pairs`` in both, ``only_qrels`` and ``only_reference``; ``equal``, share
    of equal labels, and ``kappa``, corrected for chance: both null unless all labels
    are whole numbers; ``kendall_tau`` (tau-b) and ``auc`` of the labels of ``qrels``
    against those of ``reference``: means over the ``queries`` that have one.

    Source: Cohen, 1960 and 1968 (weighted kappa).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> a = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 3], "label": [2, 1, 0]})
    >>> b = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 4], "label": [2, 0, 1]})
    >>> clicks.agreement(a, b).select("pairs", "only_reference", "equal").row(0)
    (2, 1, 0.5)
    """
    if weights not in get_args(Disagreement):
        msg = f"weights must be one of {', '.join(get_args(Disagreement))}"
        raise ValueError(msg)
    both = _joined(qrels, reference, query, doc, label, reference_label or label)
    pairs = both.drop_nulls(["a", "b"])
    a, b = pl.col("a"), pl.col("b")
    whole = pairs.select(((a.floor() == a) & (b.floor() == b)).all()).item()
    cells = pairs.group_by("a", "b").len().sort("a", "b")  # sums keep their last bit
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
        rows, columns = (
            cells.group_by(x).agg(pl.col("len").sum()).sort(x) for x in ("a", "b")
        )
        chance = rows.join(columns, how="cross", suffix="_b").select(
            "a", "b", len=pl.col("len") * pl.col("len_b") / total
        )
        expected = cost(chance)
        kappa = 1 - cost(cells) / expected if expected else None
    per_query = pairs.group_by("query").agg(
        tau=metric_expr(kendall_tau, b, score=a, ties="expected"),
        auc=metric_expr(lambda r: auc(r, rel=rel), b, score=a, ties="expected"),
    )
    means = per_query.select(
        ratio(fsum(pl.col(name)), pl.col(name).count()).alias(name)
        for name in ("tau", "auc")
    )
    return pl.DataFrame(
        {
            "pairs": [total],
            "only_qrels": [both.filter(b.is_null() & a.is_not_null()).height],
            "only_reference": [both.filter(a.is_null() & b.is_not_null()).height],
            "equal": [equal],
            "kappa": [kappa],
            "kendall_tau": means["tau"],
            "auc": means["auc"],
            "queries": [per_query.filter(pl.col("tau").is_not_null()).height],
        },
        schema_overrides=dict.fromkeys(
            ("equal", "kappa", "kendall_tau", "auc"), pl.Float64
        )
        | dict.fromkeys(COUNTS, pl.UInt32),
    )


def confusion(
    qrels: FrameLike,
    /,
    reference: FrameLike,
    *,
    query: str = "query_id",
    doc: str = "doc_id",
    label: str = "label",
    reference_label: str | None = None,
) -> pl.DataFrame:
    """Count documents by their labels in both frames.

    Parameters are those of :func:`agreement`.

    Returns
    -------
    ``label``, ``reference_label`` and ``pairs``, sorted; null: not judged there.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> a = pl.DataFrame({"query_id": 1, "doc_id": [1, 2], "label": [2, 1]})
    >>> b = pl.DataFrame({"query_id": 1, "doc_id": [1, 2], "label": [2, 0]})
    >>> clicks.confusion(a, b).rows()
    [(1.0, 0.0, 1), (2.0, 2.0, 1)]
    """
    both = _joined(qrels, reference, query, doc, label, reference_label or label)
    some = both.filter(pl.col("a").is_not_null() | pl.col("b").is_not_null())
    cells = some.group_by("a", "b").agg(pairs=pl.len())
    return cells.sort("a", "b").rename({"a": "label", "b": "reference_label"})


def _joined(
    left: FrameLike,
    right: FrameLike,
    query: str,
    doc: str,
    label: str,
    reference_label: str,
) -> pl.DataFrame:
    """Join the labels ``a`` and ``b`` of all queries and documents."""
    frames = []
    for where, source, name in (
        ("qrels", left, label),
        ("reference", right, reference_label),
    ):
        frame = opened(source, where).lazy()
        schema = frame.collect_schema()
        require_columns([query], schema, where=where, argument="query")
        require_columns([doc], schema, where=where, argument="doc")
        roles = {"query": query, "doc": doc, "label": name}
        bound = bind_columns(frame, Columns((), roles), where=where, roles=[*roles])
        value = pl.col("label").cast(pl.Float64)
        frames.append(bound.frame.select("query", "doc", value))
    ids = {"query": query, "doc": doc}
    first, second = align_ids(frames[0], frames[1], ids, where=("qrels", "reference"))
    for where, frame in (("qrels", first), ("reference", second)):
        twice = frame.group_by("query", "doc").len().filter(pl.col("len") > 1)
        if copies := twice.select(pl.len()).collect().item():
            pairs = counted(copies, "pair")
            msg = f"{pairs} of query and document come twice in {where}; keep one each"
            raise ValueError(msg)
        wrong = frame.filter(~pl.col("label").is_finite())
        if number := wrong.select(pl.len()).collect().item():
            msg = (
                f"{counted(number, 'label')} of {where} must be finite, not NaN or "
                "infinite; null is a document that was not judged"
            )
            raise ValueError(msg)
    on = ["query", "doc"]
    labels = first.rename({"label": "a"}), second.rename({"label": "b"})
    both = labels[0].join(labels[1], on=on, how="full", coalesce=True)
    return both.sort(on).collect()
