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
    "Haystack": "haystack-ai",
    "LlamaIndex": "llama-index-core",
    "TruLens": "trulens-feedback",
    "trec_eval 9, pytrec_eval": "pytrec-eval-terrier",
    "pytrec_eval": "pytrec-eval-terrier",
    "gdeval (TREC Web track)": "ir-measures",
    "MS MARCO (RR@k of ir_measures)": "ir-measures",
    "XGBoost": "xgboost-cpu",
    "RePlay": "replay-rec",
    "Spark MLlib": "pyspark",
}

COMMITS = {  # of tools whose source was read
    "OpenSearch Search Relevance Workbench": "d8be5d1",
    "Elliot": "fc27efe",
    "Quepid": "f80322f",
}


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
    found = dict(sorted(found.items(), key=_alphabetical))
    lines = (
        json.dumps({"tool": tool, "measure": measure} | asdict(cells[measure]))
        for tool, cells in found.items()
        for measure in sorted(cells)
    )
    HELD.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


def page(found: Found) -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, start, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    return before + start + "\n".join(tables(found)) + end + after


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
    return dict(sorted(found.items(), key=_alphabetical))


def tables(found: Found) -> Iterable[str]:
    """One line for each tool, then a table of its measures with the notes below."""
    yield "| tool | version | measures | values | largest difference |"
    yield "|---|---|---:|---:|---:|"
    for tool, cells in found.items():
        values = sum(cell.cases for cell in cells.values())
        most = max(cell.difference for cell in cells.values())
        link = f"[{tool}](#{anchor(tool)})"
        shape = f"{len(cells)} | {values:,} | {size(most)}"
        yield f"| {link} | {newest(cells)} | {shape} |"
    for tool, cells in found.items():
        notes: list[str] = []
        yield from ("", f"## {tool}", "")
        yield from ("| measure | values | largest difference |", "|---|---:|---:|")
        for measure, cell in sorted(cells.items(), key=_alphabetical):
            yield f"| {measure} | {shown(cell, notes)} |"
        if notes:
            yield ""
        for number, note in enumerate(notes, 1):
            yield f"{number}. {note}"


def _alphabetical(item: tuple[str, object]) -> tuple[str, str]:
    """Whatever the case; of ``ap`` and ``AP``, always the same one first."""
    return item[0].lower(), item[0]


def anchor(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def newest(cells: dict[str, Cell]) -> str:
    """The version that a tool's cells were compared with."""
    return ", ".join(sorted({cell.version for cell in cells.values() if cell.version}))


def shown(cell: Cell, notes: list[str]) -> str:
    """Cases, difference and the numbers of notes."""
    notes.extend(note for note in cell.notes if note not in notes)
    marks = ", ".join(str(notes.index(note) + 1) for note in cell.notes)
    values = f"{cell.cases:,} | {size(cell.difference)}" if cell.cases else " | "
    return values + (f" <sup>{marks}</sup>" if marks else "")


def size(difference: float) -> str:
    """A difference with one digit."""
    return "0" if difference == 0 else f"{difference:.0e}"


def release(tool: str) -> str:
    """Installed version of the tool's package, or its commit; else nothing."""
    if tool in COMMITS:
        return COMMITS[tool]
    package = PACKAGES.get(tool, re.sub(r"[ _]", "-", tool))
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1])
