"""What the documentation says of agreement with other tools is held by a comparison."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from polars_rank.conventions.tools import TOOLS
from polars_rank.core.metric.documentation import sections
from polars_rank.core.metric.registry import METRICS

HERE = Path(__file__).parents[1]
RECORDS = HERE.parent / "docs" / "parity.jsonl"
GOLDEN = HERE / "golden"
# What "Equal to" calls a tool -> what the records of the parity tests call it.
TOOL = {
    "BEIR": "BEIR",
    "CatBoost": "CatBoost",
    "DeepEval": "DeepEval",
    "Elasticsearch": "Elasticsearch _rank_eval",
    "LensKit": "LensKit",
    "LightGBM": "LightGBM",
    "Ragas": "Ragas",
    "RecBole": "RecBole",
    "RePlay": "RePlay",
    "RecTools": "RecTools",
    "Rax": "Rax",
    "XGBoost": "XGBoost",
    "cwl_eval": "cwl_eval",
    "gdeval": "gdeval (TREC Web track)",
    "ir_measures": "ir_measures",
    "ircor": "ircor",
    "ndeval": "ndeval",
    "package rbo": "rbo",
    "pyNTCIREVAL": "pyNTCIREVAL",
    "ranx": "ranx",
    "recommenders": "recommenders",
    "scipy": "scipy",
    "sigir2024-rbo": "sigir2024-rbo",
    "sklearn": "scikit-learn",
    "torchmetrics": "torchmetrics",
    "trec_eval": "pytrec_eval",
}
# Of tools that no package has, figures that they gave stand in a test.
QUOTED = {
    ("rbo", "sigir2024-rbo"): ("parity/test_rbo.py", "test_figures_with_ties"),
    ("tau_ap", "ircor"): ("parity/test_rbo.py", "test_figures_of_ircor"),
}
WORDS = re.compile(rf"``[^`]*``|{'|'.join(map(re.escape, TOOL))}")
UNKNOWN = re.compile(r"(?<![\w.])[A-Z]\w*[A-Z]\w*|\w+_eval\b|\b(?:TensorFlow|PyKEEN)\b")
CLAIMING = [name for name in METRICS if "Equal to" in sections(METRICS[name])]


def claim(metric: str) -> str:
    return " ".join(sections(METRICS[metric])["Equal to"].split())


def claims(metric: str) -> Iterator[tuple[str, str]]:
    """Each tool with each name that it has there; "" where none is given."""
    tool, named = "", True
    for word in WORDS.findall(claim(metric)):
        name = re.split(r"[@(:]", word.strip("`"))[0]
        if word in TOOL:
            if not named:
                yield tool, ""
            tool, named = word, (metric, word) in QUOTED
            if named:
                yield tool, ""
        elif module := re.match(r"(sklearn|scipy)\.", name):
            tool, named = module[1], True
            yield tool, name.rpartition(".")[2]
        elif tool and is_name(name, metric):
            named = True
            yield tool, name
    if not named:
        yield tool, ""


def is_name(text: str, metric: str) -> bool:
    """Whether it is one of the tool's, and not an argument."""
    argument = text in METRICS[metric].parameters or "=" in text
    return bool(text) and text[0] != "-" and not argument


@cache
def records() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines()]


@cache
def golden() -> set[str]:
    """Names of trec_eval 10, as its binary printed them."""
    texts = (path.read_text("utf-8") for path in GOLDEN.glob("*.c.txt"))
    lines = (line for text in texts for line in text.splitlines())
    return {line.split()[0] for line in lines}


def begins(text: str, name: str) -> bool:
    """Whether the text is the name, or goes on with a cutoff or parameters."""
    return (
        bool(name)
        and re.match(rf"{re.escape(name)}(_?[\d.]+$|[^\w.]|$)", text) is not None
    )


def is_recorded(metric: str, tool: str, name: str) -> bool:
    """Whether a comparison is about the tool's name, or about our metric."""
    if tool == "trec_eval" and any(begins(text, name) for text in golden()):
        return True
    for line in records():
        through = tool == "cwl_eval" and "cwl_eval" in line["notes"]
        if line["tool"] != TOOL[tool] and not through:
            continue
        if any(begins(text, metric) for text in (line["measure"], *line["notes"])):
            return True
        if begins(line["measure"], name) or (through and not name):
            return True
    return False


def has_test(file: str, name: str) -> bool:
    tree = ast.parse((HERE / file).read_text("utf-8"))
    return any(isinstance(n, ast.FunctionDef) and n.name == name for n in tree.body)


@pytest.mark.parametrize("metric", CLAIMING)
def test_a_metric_equals_what_it_was_compared_with(metric):
    found = list(claims(metric))
    assert found, "a tool that is not in TOOL"
    for tool, name in found:
        quoted = QUOTED.get((metric, tool))
        held = has_test(*quoted) if quoted else is_recorded(metric, tool, name)
        assert held, f"{metric}: equal to {tool} {name}, by what comparison?"


@pytest.mark.parametrize("metric", CLAIMING)
def test_every_tool_in_a_claim_is_known(metric):
    prose = WORDS.sub("", claim(metric))
    assert UNKNOWN.findall(prose) == []


@pytest.mark.parametrize("convention", TOOLS)
def test_a_convention_was_compared_with_its_tool(convention):
    tool = TOOLS[convention]
    if convention == "trec_eval":  # by the golden files
        assert all(
            any(begins(t, name) for t in golden()) for name in tool.equal.values()
        )
        return
    compared = {line["measure"] for line in records() if line["tool"] == tool.name}
    assert {*tool.equal} <= compared
