"""The metrics, by what they are formulas over."""

from __future__ import annotations

from polars_rank.metrics import of_vocabulary

METRICS = of_vocabulary("ranking")
SUBTOPIC_METRICS = of_vocabulary("subtopics")
LIST_METRICS = of_vocabulary("recommendations")
CATALOG_METRICS = of_vocabulary("catalog")
TOTALS_METRICS = of_vocabulary("totals")
