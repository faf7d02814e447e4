"""The house keeps its order: layers, one row everywhere, light imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import reference
from cases import CASES

import polars_rank
from polars_rank.metrics import METRICS
from polars_rank.namespaces import ExprRankEval

HOME = Path(polars_rank.__file__).parent
LAYERS = (
    "errors",
    "weights",
    "ranking",
    "expression",
    "metrics",
    "measure",
    "convention",
    "engine",
    "coverage",
    "evaluate",
    "io",
    "example",
    "namespaces",
    "cli",
)
WINGS = {"io", "example", "coverage"}  # none knows another


def layer(module: str) -> str:
    """``polars_rank.engine.plan`` -> ``engine``."""
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "polars_rank":
                found |= {f"polars_rank.{name.name}" for name in node.names}
    return {name for name in found if name.startswith("polars_rank.")}


def modules() -> list[Path]:
    return [p for p in HOME.rglob("*.py") if p != HOME / "__init__.py"]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(HOME)))
def test_imports_point_downwards(path):
    own = path.relative_to(HOME).with_suffix("").parts[0]
    assert own in LAYERS
    for name in imports(path):
        other = layer(name)
        if own == "cli" and other not in LAYERS:  # names of the public package
            continue
        assert LAYERS.index(other) <= LAYERS.index(own), f"{own} imports {name}"
        assert own == other or not {own, other} <= WINGS, f"{own} imports {name}"


def test_metrics_know_no_frame_and_no_column():
    for path in (HOME / "metrics").glob("*.py"):
        text = path.read_text()
        for word in ("LazyFrame", "DataFrame", "pl.col(", ".over(", "map_elements"):
            assert word not in text, f"{word} in {path.name}"


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_stands_everywhere(name):
    metric = METRICS[name]
    assert hasattr(ExprRankEval, name), "one typed line in namespaces.py"
    assert any(case.metric == name for case in CASES), "one row in tests/cases.py"
    assert name in reference.METRICS, "one plain loop in tests/reference.py"
    method = inspect.signature(getattr(ExprRankEval, name)).parameters
    for parameter, default in metric.defaults.items():
        assert method[parameter].default == default
    assert getattr(ExprRankEval, name).__doc__ == metric.summary
    for section in ("Undefined:", "Source:", "Example:"):
        assert section in metric.doc, section
    assert metric.summary.endswith(".")
    assert len(metric.summary) <= 80


def test_no_function_is_forgotten():
    """Every public function of a family file is a registered metric."""
    for path in (HOME / "metrics").glob("*.py"):
        if path.stem in ("__init__", "registry", "pairs"):
            continue
        tree = ast.parse(path.read_text())
        named = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        ]
        exported = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )
        assert sorted(named) == sorted(exported)
        assert set(named) <= METRICS.keys()


def test_import_brings_no_extra():
    code = (
        "import sys, polars_rank; print(sorted({'rich', 'cyclopts', 'hypothesis', "
        "'scipy', 'pandas', 'numba'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
