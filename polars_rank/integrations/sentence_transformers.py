"""sentence-transformers: its evaluator, with any measures beside its own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import polars as pl

from polars_rank.evaluation.evaluate import evaluate
from polars_rank.integrations.arrays import LoopOptions, directions
from polars_rank.measures.measure import Custom, Measures, parse_measures

__all__ = ["evaluator"]

DEPTH = 100  # documents that are retrieved, as in the evaluator of the package


def evaluator(
    measures: Measures,
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    relevant_docs: Mapping[str, Any],
    **options: Any,
) -> Any:
    """Return an ``InformationRetrievalEvaluator`` that has these measures, too.

    Embedding, search and the package's own measures remain as they are. The first
    measure is the ``primary_metric``.

    Parameters
    ----------
    measures
        As in :func:`evaluate`. Cutoffs beyond 100 retrieve more documents, as
        ``map_at_k`` does; without a cutoff, documents beyond the first 100 count as not
        retrieved.
    queries, corpus
        Texts by id.
    relevant_docs
        For each query a set of relevant documents, or their grades by id.
    options
        Choices of :func:`evaluate` (``convention``, ``ties``, ``stats`` ...), and
        arguments of the ``InformationRetrievalEvaluator``, such as ``name`` and
        ``batch_size``.
    """
    module: Any = import_module("sentence_transformers.evaluation")
    parsed = parse_measures(measures)
    given: Any = [{m.name: m.function} if isinstance(m, Custom) else m for m in parsed]
    known = {*LoopOptions.__annotations__}
    chosen: Any = {n: options.pop(n) for n in [*options] if n in known}
    first, better = next(iter(directions(parsed, chosen).items()))
    cutoffs = [m.arguments.get("k") or 0 for m in parsed if not isinstance(m, Custom)]
    options.setdefault("map_at_k", [max(DEPTH, *cutoffs)])
    qrels = _qrels(relevant_docs)

    class RankingEvaluator(module.InformationRetrievalEvaluator):  # type: ignore[misc]
        def compute_metrics(self, queries_result_list: list[Any]) -> dict[str, Any]:
            theirs = super().compute_metrics(queries_result_list)
            hits = list(zip(self.queries_ids, queries_result_list, strict=True))
            columns: dict[str, list[Any]] = {
                "query_id": [query for query, found in hits for _ in found],
                "doc_id": [hit["corpus_id"] for _, found in hits for hit in found],
                "score": [hit["score"] for _, found in hits for hit in found],
            }
            means = evaluate(pl.DataFrame(columns), given, qrels=qrels, **chosen)
            ours = means.drop("queries").row(0, named=True)
            return {**theirs, **{name: {"": value} for name, value in ours.items()}}

        def __call__(self, *args: Any, **kwargs: Any) -> dict[str, float]:
            found: dict[str, float] = super().__call__(*args, **kwargs)
            self.greater_is_better = better
            self.primary_metric = next(n for n in found if n.endswith(f"_{first}"))
            return found

    return RankingEvaluator(dict(queries), dict(corpus), dict(relevant_docs), **options)


def _qrels(relevant_docs: Mapping[str, Any]) -> pl.DataFrame:
    """Return judgments: grade 1 in a set, the grades in a dictionary."""
    rows = [
        (query, doc, docs[doc] if isinstance(docs, Mapping) else 1)
        for query, docs in relevant_docs.items()
        for doc in docs
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "label"], orient="row")
