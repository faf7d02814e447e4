"""A page for each measure, and one for each family, from the registry."""

from __future__ import annotations

import pages
from web import published

from polars_rank.metrics import METRICS


def written() -> dict[str, str]:
    """Path and text of every page below ``measures/``."""
    families = pages.families()
    made = {}
    for family, text in pages.family_pages():
        members = families[family]
        head = text.partition("\n## ")[0].replace(pages.GENERATED, "")
        head = head.replace("(index.md)", "(../index.md)")
        rows = [
            f"| [`{m.name}`](../{m.name}.md) | {pages.summary(m)} |" for m in members
        ]
        table = pages.table("measure", "what it measures", rows)
        entries = [f"../{m.name}" for m in members]
        made[f"measures/families/{family}.md"] = (
            f"{head}\n\n{table}\n\n{published.toctree(entries)}"
        )
    for name, metric in METRICS.items():
        made[f"measures/{name}.md"] = page(metric)
    return made


def page(metric: pages.Metric) -> str:
    """Everything that is known about one measure."""
    return pages.measure_section(metric).removeprefix("#")
