"""Write what follows from the registry: ``python docs/make.py``.

The types of the methods on expressions (``polars_rank/namespaces/expr.pyi``) and
the tables of measures and conventions in the README. The tests fail while they differ
from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from polars_rank.conventions.tools import TOOLS
from polars_rank.metrics import METRICS, SUBTOPIC_METRICS, Metric
from polars_rank.namespaces import ExprRankEval

HOUSE = Path(__file__).resolve().parent.parent
STUB = HOUSE / "polars_rank" / "namespaces" / "expr.pyi"
README = HOUSE / "README.md"
METHOD = "polars_rank.namespaces.method"


def main() -> None:
    """Rewrite the files."""
    STUB.write_text(stub(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")


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


# -- the tables of the README


def readme() -> str:
    """The README with its tables made anew."""
    text = README.read_text(encoding="utf-8")
    for name, table in (("measures", measures()), ("conventions", conventions())):
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- /{name} -->")
        text = before + start + table + end + after
    return text


def conventions() -> str:
    """One row a convention."""
    lines = ["| convention | tool | in a few words |", "|---|---|---|"]
    for name, tool in TOOLS.items():
        lines.append(f"| `{name}` | {tool.name} | {tool.follows} |")
    return "\n".join(lines)


def measures() -> str:
    """One row a measure."""
    lines = ["| measure | what it measures |", "|---|---|"]
    for name, metric in (METRICS | SUBTOPIC_METRICS).items():
        parameters = f" ({', '.join(metric.defaults)})" if metric.defaults else ""
        summary = metric.summary.replace("|", r"\|")
        lines.append(f"| `{name}`{parameters} | {summary} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
