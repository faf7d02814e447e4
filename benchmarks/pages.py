"""From the results of a run to every page that shows them, and the picture.

``python benchmarks/pages.py`` after ``python benchmarks/run.py`` keeps the results in
``benchmarks/results.json`` and fills what lies between ``<!-- speed -->`` and
``<!-- /speed -->``, or ``<!-- figures -->`` and its end, in the pages. With ``--check``
it tells whether the pages say what is kept.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import report
import targets
from data import HOME
from report import find, middle, paired
from shapes import ANY, BOUNDED, DUCKDB, FLOOR, MANY, OURS, PYTREC_EVAL, RANX, Case

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "benchmarks" / "results.json"
DIGITS = 4  # of a figure that is kept
TEN_MILLION = {  # what a line of the short table is called, and its two cases
    "polars_rank": (OURS, ANY),
    "DuckDB SQL": (DUCKDB, Case("duckdb", order="shuffled")),
    "a compiled pass over contiguous rows, without checks": (FLOOR, None),
    "pandas": (Case("pandas"), None),
    "pytrec_eval": (PYTREC_EVAL, None),
    "ir_measures": (Case("ir_measures"), None),
    "ranx": (RANX, None),
}

FEW = ("polars_rank", "DuckDB SQL", "pytrec_eval")  # on the first page


def kept(results: dict) -> dict:
    """Return what the pages need: figures of rounds, without the means that agreed."""
    shapes = [
        shape | {"cases": [_case(entry) for entry in shape["cases"]]}
        for shape in results["shapes"]
    ]
    agreed = report.disagreements(results)
    return results | {"shapes": shapes, "agreed": agreed}


def _case(entry: dict) -> dict:
    figures = ("import", "load", "first", "warm", "peak_mb")
    runs = [{name: _short(run[name]) for name in figures} for run in entry["runs"]]
    return entry | {"runs": runs}


def _short(value: float | None) -> float | None:
    return value and float(f"{value:.{DIGITS}g}")


def short_table(results: dict, contenders: Sequence[str] = (*TEN_MILLION,)) -> str:
    """The first table of a reader: ten million rows, from nothing to the means."""
    cores = results["machine"]["cores"]
    said = (
        "Ten million rows in Parquet (100,000 queries x 100), five measures, "
        f"{cores} cores, in a new process:"
    )
    lines = [
        wrapped(said),
        "",
        "| | contiguous rows | rows in any order |",
        "|---|---:|---:|",
    ]
    for name in contenders:
        cells = [_seconds(results, "10m", case) for case in TEN_MILLION[name]]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines)


def more(results: dict) -> str:
    """Sentences below it: many measures, and a billion rows."""
    ours, many = (find(results, "10m", case) for case in (OURS, MANY))
    times = paired(many, ours, "warm") if many and ours else None
    text = (
        f"Thirty measures take {_two(times)} times as long as five. " if times else ""
    )
    for case, words in (
        (OURS, "A billion contiguous rows take"),
        (BOUNDED, 'in any order, with `memory_limit="1GB"`,'),
    ):
        entry = find(results, "1g", case)
        if entry is not None:
            whole, peak = middle(entry, "whole"), middle(entry, "peak_mb")
            text += f"{words} {whole:.0f} seconds and {peak:.0f} MB; "
    return wrapped(f"{text.removesuffix('; ')}. {_day(results)}.")


def figures(results: dict) -> str:
    """The whole table, what a reader must know of it, and the targets."""
    said = f"One run of {results['rounds']} rounds, {_day(results)}. "
    parts = (
        wrapped(said + results.get("note", "")),
        report.table(results),
        report.remarks(results),
    )
    return "\n\n".join([*(part.strip() for part in parts), targets.table(results)])


def _day(results: dict) -> str:
    day = datetime.date.fromisoformat(results["date"])
    return f"{day.day} {day:%B %Y}"


def wrapped(text: str) -> str:
    """Break a paragraph as the pages do."""
    return textwrap.fill(text, width=100, break_on_hyphens=False)


def _seconds(results: dict, shape: str, case: Case | None) -> str:
    entry = None if case is None else find(results, shape, case)
    whole = None if entry is None else middle(entry, "whole")
    return "" if whole is None else f"{_two(whole)} s"


def _two(value: float) -> str:
    """Two figures that count."""
    digits = max(1 - math.floor(math.log10(value)), 0)
    return f"{value:.{digits}f}"


def filled(page: str, results: dict) -> str:
    """Return the text of a page with the results between its marks."""
    parts = {
        "speed": short_table(results),
        "short": short_table(results, FEW),
        "more": more(results),
        "figures": figures(results),
    }
    for name, text in parts.items():
        marks = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        page = re.sub(
            marks, lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL
        )
    return page


PAGES = ("README.md", "docs/speed.md", "benchmarks/README.md")


def main() -> None:
    """Keep the results of the last run, and write them into the pages."""
    if sys.argv[1:] == ["--check"]:
        results = json.loads(KEPT.read_text())
        texts = {name: (ROOT / name).read_text() for name in PAGES}
        if other := [n for n, text in texts.items() if filled(text, results) != text]:
            raise SystemExit(f"{', '.join(other)}: not of {KEPT.name}")
        return
    results = kept(json.loads((HOME / "results.json").read_text()))
    if results["scale"] != 1:
        raise SystemExit("the last run was a trial: run it in full size first")
    KEPT.write_text(json.dumps(results) + "\n")
    for name in PAGES:
        path = ROOT / name
        path.write_text(filled(path.read_text(), results))
    import plot

    plot.main()


if __name__ == "__main__":
    main()
