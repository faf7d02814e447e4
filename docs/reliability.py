"""Write ``docs/reliability.md`` from what the programs of faults found.

``python tests/faults/run.py --record`` tries the faults and calls ``record``: the lines
of the programs that ran take the place of what ``docs/reliability.jsonl`` held of them.
``python docs/reliability.py`` writes the page anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent / "reliability.md"
HELD = PAGE.with_suffix(".jsonl")
MARKS = "<!-- found -->\n", "\n<!-- /found -->"
Line = dict[str, Any]


def record(found: Sequence[Line]) -> None:
    """Take in what programs found, and rewrite the page."""
    ran = {line["program"] for line in found}
    lines = [line for line in held() if line["program"] not in ran] + list(found)
    lines.sort(key=lambda line: line["program"])
    HELD.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def held() -> list[Line]:
    """What was found so far."""
    if not HELD.exists():
        return []
    return [json.loads(text) for text in HELD.read_text("utf-8").splitlines()]


def page() -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, start, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    return before + start + "\n".join(sections(held())).rstrip() + end + after


def sections(lines: Sequence[Line]) -> Iterator[str]:
    """A heading, a text and a table for each program."""
    for _, rows in groupby(lines, key=lambda line: line["program"]):
        program = list(rows)
        first = program[0]
        yield from (f"## {first['title'].rstrip('.')}", "", first["text"], "")
        figure, unit = first["unit"] is not None, f" {first['unit']} |"
        yield "| fault | tried | survived | lost |" + (unit if figure else "")
        yield "|---|---:|---:|---:|" + ("---:|" if figure else "")
        for line in program:
            counts = (line["tried"], line["survived"], line["lost"])
            cells = [line["case"], *(f"{n:,}" for n in counts)]
            if figure:
                cells.append(f"{line.get('figure', 0):,.0f}")
            yield f"| {' | '.join(cells)} |"
        yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
