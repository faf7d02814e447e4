"""Write ``docs/parity.md`` from what the parity tests found.

``python -m pytest -m parity`` does it by itself: what the installed tools gave takes
the place of what ``docs/parity.jsonl`` held of them, other tools keep their lines. A
run with ``PARITY_RECORDS=folder`` leaves it to ``python docs/parity.py folder``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "parity.md"
HELD = PAGE.with_suffix(".jsonl")
MARKS = "<!-- found -->\n", "\n<!-- /found -->"
PACKAGES = {
    "trec_eval 9, pytrec_eval": "pytrec-eval-terrier",
    "pytrec_eval": "pytrec-eval-terrier",
    "gdeval (TREC Web track)": "ir-measures",
    "MS MARCO (RR@k of ir_measures)": "ir-measures",
    "XGBoost": "xgboost-cpu",
    "RePlay": "replay-rec",
    "Spark MLlib": "pyspark",
}
SHARED = 2  # tools that a measure needs for a column of its own


@dataclass
class Cell:
    """What was found about one measure of one tool."""

    difference: float = 0.0
    cases: int = 0
    version: str = ""
    notes: list[str] = field(default_factory=list)

    def add(self, line: dict[str, object]) -> None:
        """Take in one comparison."""
        self.difference = max(self.difference, float(str(line["difference"])))
        self.cases += int(str(line["cases"]))
        note = str(line["note"])
        if note and note not in self.notes:
            self.notes.append(note)


Found = dict[str, dict[str, Cell]]


def main(folder: str) -> None:
    """Take in what a run found, and rewrite the tables of the page."""
    found = held()
    for tool, cells in read(Path(folder)).items():
        for cell in cells.values():
            cell.version = release(tool)
        found.setdefault(tool, {}).update(cells)
    found = dict(sorted(found.items(), key=lambda item: item[0].lower()))
    lines = (
        json.dumps({"tool": tool, "measure": measure} | asdict(cells[measure]))
        for tool, cells in found.items()
        for measure in sorted(cells)
    )
    HELD.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, start, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    page = before + start + "\n".join(tables(found)) + end + after
    PAGE.write_text(page, encoding="utf-8")


def held() -> Found:
    """What earlier runs found."""
    found: Found = {}
    if HELD.exists():
        for text in HELD.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            tool, measure = line.pop("tool"), line.pop("measure")
            found.setdefault(tool, {})[measure] = Cell(**line)
    return found


def read(folder: Path) -> Found:
    """The largest difference, the cases and the notes of every tool and measure."""
    found: Found = {}
    for path in sorted(folder.glob("*.jsonl")):
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            cells = found.setdefault(line["tool"], {})
            cells.setdefault(line["measure"], Cell()).add(line)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def tables(found: Found) -> Iterable[str]:
    """A table of the measures that several tools have, one of the others, the notes."""
    measures = sorted({m for cells in found.values() for m in cells})
    having = {m: [t for t in found if m in found[t]] for m in measures}
    columns = [m for m in measures if len(having[m]) >= SHARED]
    columns.sort(key=lambda m: -len(having[m]))
    notes: list[str] = []
    yield f"| tool | version | {' | '.join(columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for tool, cells in found.items():
        if any(m in cells for m in columns):
            row = [shown(cells.get(m), notes) for m in columns]
            yield f"| {tool} | {newest(cells)} | {' | '.join(row)} |"
    if alone := [m for m in measures if len(having[m]) < SHARED]:
        yield from ("", "| measure | tool | difference (cases) |", "|---|---|---|")
        for m in alone:
            (tool,) = having[m]
            where = f"{tool} {found[tool][m].version}".strip()
            yield f"| {m} | {where} | {shown(found[tool][m], notes)} |"
    yield ""
    for number, note in enumerate(notes, 1):
        yield f"{number}. {note}"


def newest(cells: dict[str, Cell]) -> str:
    """The version that a tool's cells were compared with."""
    return ", ".join(sorted({cell.version for cell in cells.values() if cell.version}))


def shown(cell: Cell | None, notes: list[str]) -> str:
    """Difference, cases and the numbers of notes."""
    if cell is None:
        return ""
    notes.extend(note for note in cell.notes if note not in notes)
    marks = ", ".join(str(notes.index(note) + 1) for note in cell.notes)
    far = "0" if cell.difference == 0 else f"{cell.difference:.0e}"
    value = f"{far} ({cell.cases})" if cell.cases else ""
    return value + (f" <sup>{marks}</sup>" if marks else "")


def release(tool: str) -> str:
    """Installed version of the tool's package; nothing for one that is none."""
    package = PACKAGES.get(tool, re.sub(r"[ _]", "-", tool))
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1])
