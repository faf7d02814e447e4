"""The value of every measure, with the version of its definition.

    python tests/versions.py    record new measures, and those whose version was raised

No oracle, but a lock: sums are kept for years, and old and new ones of one version are
added. If a value changes, the version has to: ``@metric(version=2)``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

import polars_rank as pr
from polars_rank import clicks
from polars_rank.clicks.behavior.measures import BEHAVIOR
from polars_rank.core.metric.registry import METRICS, Metric

HERE = Path(__file__).parent
RECORD = HERE / "golden" / "versions.json"
SHORT = {"rnd": "rnd(step=2)"}  # that need longer lists otherwise
# As pytest finds them, by pyproject.toml.
sys.path += [str(path) for path in HERE.rglob("*") if path.is_dir()]

from test_clicks_behavior import (  # noqa: E402
    MEASURES,
    MEASURES_OF_SESSIONS,
    NAMED,
    random_log,
)
from test_evaluation_in_parts import rows  # noqa: E402


def found() -> dict[str, dict[str, Any]]:
    """Version and values of each measure: means, by text form."""
    return {"metrics": _metrics(), "behavior": _behavior()}


def _metrics() -> dict[str, Any]:
    log = rows(40, seed=11)
    intents = log.with_columns(intent=pl.col("doc_id").str.slice(1).cast(int) % 3)
    qrels = intents.select("query_id", "doc_id", "intent", "label")
    about_items = {
        "history": rows(30, seed=12).select("query_id", "doc_id"),
        "items": intents.select(
            "doc_id", category="intent", protected=pl.col("intent") == 0
        ).unique(),
    }
    frames = {
        "ranking": (log, {}),
        "subtopics": (log.drop("label"), {"qrels": qrels, "subtopic": "intent"}),
        "recommendations": (log, about_items),
        "catalog": (log, about_items),
        "totals": (log, about_items),
    }
    result: dict[str, Any] = {}
    for vocabulary, (frame, options) in frames.items():
        own = {n: m for n, m in METRICS.items() if m.vocabulary == vocabulary}
        texts = {text: name for name, metric in own.items() for text in _texts(metric)}
        means = pr.evaluate(frame, [*texts], **options)
        for text, name in texts.items():
            one = result.setdefault(name, {"version": own[name].version, "values": {}})
            one["values"][text] = means[text].item()
    return result


def _texts(metric: Metric) -> list[str]:
    text = SHORT.get(metric.name, metric.name)
    return [text, *([f"{text}@3"] if "k" in metric.meanings else [])]


def _behavior() -> dict[str, Any]:
    texts = [*MEASURES, *MEASURES_OF_SESSIONS]
    values = clicks.behavior(random_log(5), texts, **NAMED)
    result: dict[str, Any] = {}
    for text in texts:
        name = text.partition("@")[0].partition("(")[0]
        version = BEHAVIOR[name].version
        one = result.setdefault(name, {"version": version, "values": {}})
        one["values"][text] = values[text].item()
    return result


def record() -> None:
    """Write what is new; a value of a known version stays what it was."""
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for kind, measures in found().items():
        before = known.get(kind, {})
        known[kind] = {
            name: before[name]
            if name in before and before[name]["version"] >= one["version"]
            else one
            for name, one in measures.items()
        }
    RECORD.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    record()
