"""What there is to choose, and what results hold, is named where a user looks."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from test_vocabulary import FUNCTIONS, OF_USERS, results

from polars_rank import fusion
from polars_rank.clicks.behavior.measures import BEHAVIOR
from polars_rank.comparison import Comparison, Gate
from polars_rank.comparison.input.procedures import TestName

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("clicks.md", [*BEHAVIOR]),
        ("compare.md", [f'"{name}"' for name in get_args(TestName)]),
        ("fusion.md", [*fusion.METHODS, *fusion.NORMS]),
    ],
)
def test_a_table_of_the_guide_has_a_row_for_each(page, names):
    """In the first cell, among others that are alike."""
    rows = re.findall(r"^\| (.*?) \|", (GUIDE / page).read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    missing = [name for name in names if name not in told]
    assert not missing, f"no row in a table of docs/guide/{page}: {missing}"


def words(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [value for value in get_args(hint) if isinstance(value, str)]
    return [word for part in get_args(hint) for word in words(part)]


# The docstring of another function has them, to which theirs refers.
ELSEWHERE = {
    "polars_rank.per_query": {"missing", "no_relevant"},
    "polars_rank.analysis.changes": {"ties"},
    "polars_rank.comparison.discriminative": {"test"},
    "polars_rank.clicks.counterfactual": {"interval"},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_that_names_a_choice_names_them_all(name):
    """But the default, which the signature has."""
    function = FUNCTIONS[name]
    try:
        hints = get_type_hints(function)
    except NameError:  # types that only a type checker imports
        return
    missing = {}
    for p in inspect.signature(function).parameters.values():
        choices = [*dict.fromkeys(words(hints.get(p.name)))]
        named = [word for word in choices if f'``"{word}"``' in str(function.__doc__)]
        if named and p.name not in ELSEWHERE.get(name, ()):
            left = [word for word in choices if word not in (*named, p.default)]
            missing |= {p.name: left} if left else {}
    assert not missing, f"the docstring of {name} leaves out {missing}"


CLASSES = {"compare": Comparison, "gate": Gate}  # that hold the frames
KEYS = {"measure", "segment"}
# Their columns are told by the vocabulary, or on the pages of the guide.
ON_PAGES = {
    *("anova", "friedman", "letters", "match_report", "check_split"),
    *("audit.choices", "audit.values", "audit.bounds", "audit.differences"),
    *("changes.summary", "changes.documents", "tune.candidates", "tune.folds"),
    *("reasons.summary", "reasons.segments", "reasons.queries", "reasons.documents"),
    *("report.facts", "report.positions", "report.faults", "report.methods"),
}


@pytest.mark.filterwarnings("ignore")
def test_the_docstring_of_a_result_names_its_columns():
    functions = {name.rpartition(".")[2]: f for name, f in FUNCTIONS.items()}
    missing = {}
    for name, frame in results():
        if name in ON_PAGES:
            continue
        base = name.partition(".")[0]
        text = f"{functions[base].__doc__} {CLASSES.get(base, object).__doc__}"
        own = [c for c in frame.columns if c not in OF_USERS | KEYS]
        missing |= {
            f"{name}: {column}": functions[base].__module__
            for column in own
            if f"``{column}``" not in text
        }
    assert not missing, f"not in the docstring of the function or class: {missing}"
