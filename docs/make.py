"""Write what follows from the registry: ``python docs/make.py``.

The types of the methods on expressions (``polars_rank/namespaces/expr.pyi``) and, in
``docs/pages.py``, the pages of measures, the tables of conventions and the README's
table. The tests fail while they differ from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from runpy import run_path

from polars_rank.metrics import METRICS, Metric
from polars_rank.namespaces import ExprRankEval

HOUSE = Path(__file__).resolve().parent.parent
STUB = HOUSE / "polars_rank" / "namespaces" / "expr.pyi"
METHOD = "polars_rank.namespaces.method"


def main() -> None:
    """Rewrite the files."""
    STUB.write_text(stub(), encoding="utf-8")
    pages()


# -- the types of the methods


def stub() -> str:
    """A typed method for every metric."""
    lines = [
        '"""Types of the methods; written by ``python docs/make.py``."""',
        "",
        "import polars as pl",
        *sorted(imports()),
        "",
        "class ExprRankEval:",
        "    def __init__(self, expr: pl.Expr) -> None: ...",
    ]
    for metric in METRICS.values():
        lines += typed(metric)
    return "\n".join(lines) + "\n"


def typed(metric: Metric) -> Iterator[str]:
    """The method, a parameter a line."""
    yield f"    def {metric.name}("
    keyword_only = False
    for parameter in signature(metric).values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "        *,"
        yield f"        {written(parameter)},"
    yield "    ) -> pl.Expr:"
    yield f'        """{metric.summary}"""'


def written(parameter: inspect.Parameter) -> str:
    """``name: type = default``."""
    if parameter.annotation is parameter.empty:
        return parameter.name
    text = f"{parameter.name}: {parameter.annotation}".replace("'", '"')
    if parameter.default is parameter.empty:
        return text
    default = parameter.default
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{text} = {shown}"


def signature(metric: Metric) -> dict[str, inspect.Parameter]:
    """The parameters of the method."""
    return dict(inspect.signature(getattr(ExprRankEval, metric.name)).parameters)


def imports() -> set[str]:
    """Every name in an annotation, from where its module has it."""
    homes: dict[str, str] = {}
    for metric in METRICS.values():
        for parameter in signature(metric).values():
            if parameter.annotation is parameter.empty:
                continue
            own = parameter.name in metric.defaults
            module = metric.function.__module__ if own else METHOD
            for name in names(parameter.annotation):
                home = homes.setdefault(name, home_of(name, module))
                if home != home_of(name, module):
                    raise SystemExit(f"{name} means two things: {home}, {module}")
    by_home: dict[str, set[str]] = {}
    for name, home in homes.items():
        by_home.setdefault(home, set()).add(name)
    return {
        f"from {home} import {', '.join(sorted(found))}"
        for home, found in by_home.items()
        if home != "builtins"
    }


def names(annotation: str) -> set[str]:
    """The names that an annotation uses."""
    tree = ast.parse(annotation, mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def home_of(name: str, module: str) -> str:
    """The module that a module imports a name from, or itself."""
    source = inspect.getsource(import_module(module))
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            if name in (alias.name for alias in node.names):
                return node.module
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in (t.id for t in targets if isinstance(t, ast.Name)):
                return module
    return "builtins"


# -- the pages and the README's table

_PAGES = run_path(str(HOUSE / "docs" / "pages.py"))
README, readme, pages = _PAGES["README"], _PAGES["readme"], _PAGES["main"]


if __name__ == "__main__":
    main()
