"""From results to the table. ``python benchmarks/report.py`` prints it once more."""

from __future__ import annotations

import json
import math
from statistics import median

from data import HOME
from shapes import SHAPES, Case

NAMES = {
    "scan": "(scan alone)",
    "floor": "(floor: compiled pass)",
    "nothing": "(nothing)",
    "imports": "(import: polars, then polars_rank)",
    "by_hand": "(Polars, by hand)",
    "duckdb": "DuckDB",
    "pytrec_eval": "pytrec_eval-terrier",
    "sklearn": "scikit-learn",
}
HEAD = (
    "| contender | input | rounds | import, s | load, s | first, s | warm, s "
    "| x polars_rank | peak, MB |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
)
SAME = 1e-5  # equal float32 scores stand in any order; torchmetrics adds in float32
NOTHING = 30  # MB, more than Python weighs
EXACT = 1e-9  # where every contender breaks ties by document id


def find(results: dict, shape: str, case: Case) -> dict | None:
    """What was measured of a case, if anything was."""
    for entry in _cases(results, shape):
        if entry["case"] == vars(case) and entry["runs"]:
            return entry
    return None


def _cases(results: dict, shape: str) -> list[dict]:
    return next((s["cases"] for s in results["shapes"] if s["name"] == shape), [])


def column(entry: dict, name: str) -> list[float]:
    """One figure of every round; ``whole`` is import, loading and first evaluation.

    Some contenders import what they need when they are imported, others at their first
    evaluation.
    """
    if name == "whole":
        return [run["import"] + run["load"] + run["first"] for run in entry["runs"]]
    return [run[name] for run in entry["runs"] if run[name] is not None]


def middle(entry: dict, name: str) -> float | None:
    values = column(entry, name)
    return median(values) if values else None


def paired(over: dict, under: dict, name: str) -> float | None:
    """Median of the ratios of two cases of a shape, round by round."""
    pairs = zip(column(over, name), column(under, name), strict=False)
    ratios = [a / b for a, b in pairs]
    return median(ratios) if ratios else None


def number(value: float | None) -> str:
    """Three figures that count, but no more than four decimals."""
    if value is None:
        return ""
    digits = 2 - math.floor(math.log10(max(abs(value), 1e-9)))
    return f"{value:,.{min(max(digits, 0), 4)}f}"


def table(results: dict) -> str:
    """One line a case; a line in bold opens each shape."""
    lines = [HEAD]
    for shape in results["shapes"]:
        ours = _reference(shape)
        lines.append(f"| **{shape['title']}** | " + "| " * 7 + "|")
        lines += [_line(entry, ours, shape) for entry in shape["cases"]]
    return "\n".join(lines)


def _reference(shape: dict) -> dict | None:
    """The first line of polars_rank that has five measures."""
    for case in SHAPES[shape["name"]].cases:
        if case.contender == "polars_rank" and case.measures == 5:
            one = {"shapes": [shape]}
            return find(one, shape["name"], case)
    return None


def _line(entry: dict, ours: dict | None, shape: dict) -> str:
    name = entry["case"]["contender"]
    start = f"| {NAMES.get(name, name)} | {entry['input']} |"
    if not entry["runs"]:
        return f"{start} {entry['note']} | | | | | | |"
    compared = "warm" if shape["in_memory"] else "whole"
    cells = [number(middle(entry, c)) for c in ("import", "load", "first", "warm")]
    cells.append(number(paired(entry, ours, compared)) if ours else "")
    cells.append(f"{middle(entry, 'peak_mb'):,.0f}")
    note = f" ({entry['note']})" if entry["note"] else ""
    return f"{start} {len(entry['runs'])}{note} | " + " | ".join(cells) + " |"


def remarks(results: dict) -> str:
    """What a reader must know beside the table, and what went wrong."""
    machine = results["machine"]
    found = {k: v for k, v in machine["versions"].items() if v}
    versions = ", ".join(f"{k} {v}" for k, v in found.items())
    lines = [
        "",
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, {versions}.",
        "Medians over rounds, each measurement in a process of its own; "
        "`x polars_rank`: import, load and first (in memory: warm) against the first "
        "line of polars_rank, round by round.",
    ]
    if results["scale"] != 1:
        lines.append(f"Sizes divided by {results['scale']}: only a trial.")
    return "\n".join([*lines, *disagreements(results), *_inherited(results), ""])


def disagreements(results: dict) -> list[str]:
    """All contenders must find the same means; kept results have the answer alone."""
    if "agreed" in results:
        return results["agreed"]
    lines = []
    for shape in results["shapes"]:
        ours = _reference(shape)
        for entry in shape["cases"] if ours else []:
            if not entry["runs"]:
                continue
            tolerance = _tolerance(shape, entry, ours)
            expected = ours["runs"][0]["means"]
            for name, value in entry["runs"][0]["means"].items():
                mean = expected.get(name, value)
                if not math.isclose(value, mean, rel_tol=tolerance):
                    lines.append(
                        f"OTHER MEANS, {shape['name']}: {entry['case']['contender']}, "
                        f"{entry['input']}: {name} is {value}, not {mean}."
                    )
    return lines or ["All contenders find the same means."]


def _tolerance(shape: dict, entry: dict, ours: dict) -> float:
    if not shape["judged"]:
        return SAME
    return EXACT if entry["case"]["ties"] == ours["case"]["ties"] else 1e-2


def _inherited(results: dict) -> list[str]:
    """Peak memory that a process gets from its parent would be no measurement."""
    nothing = find(results, "process", Case("nothing"))
    if nothing is None or middle(nothing, "peak_mb") < NOTHING:
        return []
    return [f"PEAK MEMORY IS WRONG: a process that does nothing has over {NOTHING} MB."]


if __name__ == "__main__":
    import targets

    results = json.loads((HOME / "results.json").read_text())
    print(table(results), remarks(results), targets.table(results), sep="\n")
