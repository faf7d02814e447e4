"""Try faults and count what survived.

    python tests/faults/run.py                     all programs, as for the page
    python tests/faults/run.py kill --rounds 20    this one, so often
    python tests/faults/run.py --record            and write docs/reliability.md

One JSON line is printed per case. The exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import importlib
import json
import runpy
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "reliability.py"
NAMES = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("__init__", "run"))


def program(name: str) -> ModuleType:
    """The module with the trials."""
    return importlib.import_module(f"faults.{name}")


def counted(name: str, rounds: int | None = None) -> Iterator[dict]:
    """Try the faults of a program; tried, survived and lost of each case."""
    module, cases = program(name), {}
    title, _, text = module.__doc__.partition("\n\n")
    with tempfile.TemporaryDirectory() as folder:
        for trial in module.trials(rounds or module.MANY, Path(folder)):
            case = cases.setdefault(trial.case, {"tried": 0, "lost": []})
            case["tried"] += 1
            if trial.lost:
                case["lost"].append(trial.lost)
            if trial.figure is not None:
                case["figure"] = max(case.get("figure", 0), trial.figure)
    for case, found in cases.items():
        lost = found.pop("lost")
        yield {
            "program": name,
            "title": title,
            "text": " ".join(text.split()),
            "case": case,
            **found,
            "survived": found["tried"] - len(lost),
            "lost": len(lost),
            "losses": sorted(set(lost)),
            "unit": getattr(module, "FIGURE", None),
        }


def main() -> int:
    """Run the programs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, help="how often; else as for the page")
    parser.add_argument("--record", action="store_true", help="write the page")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"no program {', '.join(sorted(unknown))} in {', '.join(NAMES)}")
    lines = []
    for name in given.names or NAMES:
        for line in counted(name, given.rounds):
            print(json.dumps(line), flush=True)
            lines.append(line)
    if given.record:
        runpy.run_path(str(PAGE))["record"](lines)
    return int(any(line["lost"] for line in lines))


if __name__ == "__main__":
    sys.path[0] = str(HERE.parent)
    sys.exit(main())
