"""The options of an evaluation, and which of them decide its values."""

from __future__ import annotations

from inspect import signature
from typing import Any

from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.evaluation.evaluate import evaluate

FRAMES = (
    "frame", "measures", "qrels", "queries", "segments", "history", "items",
)  # fmt: skip
OPTIONS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in signature(evaluate).parameters.items()
    if name not in FRAMES
}
COLUMNS = {
    "query", "doc", "score", "label", "rank", "qrels_query", "qrels_doc", "subtopic",
    "by", "weight",
}  # fmt: skip
RESOURCES = {"layout", "memory_limit", "temp_dir", "progress"}
CHOICES = {"convention", *SHORTCUTS}  # of the convention that they make together

# Whatever is not known to decide nothing does decide: so does a new option. A column
# decides by its name: the scores of two systems are two columns of one frame.
DECIDING = {
    name: default
    for name, default in OPTIONS.items()
    if name not in RESOURCES | CHOICES
}
