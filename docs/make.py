"""Write what follows from the registry: ``python docs/make.py``.

The types of the methods on expressions (``polars_rank/namespaces/expr.pyi``) and the
tables of measures, choices and conventions in the README. The tests fail while they
differ from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from polars_rank import typing
from polars_rank.conventions.choices import CHOICES, Disputed, sentence
from polars_rank.conventions.tools import CONVENTIONS, DEFAULT, TOOLS
from polars_rank.metrics import METRICS, Metric, of_vocabulary
from polars_rank.namespaces import ExprRankEval

HOUSE = Path(__file__).resolve().parent.parent
STUB = HOUSE / "polars_rank" / "namespaces" / "expr.pyi"
README = HOUSE / "README.md"


def main() -> None:
    """Rewrite the files."""
    STUB.write_text(stub(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")


# -- the types of the methods


def stub() -> str:
    """A typed method for every metric."""
    methods = [line for m in of_vocabulary("ranking").values() for line in typed(m)]
    used = sorted(names("\n".join(methods)) & set(typing.__all__))
    lines = [
        '"""Types of the methods; written by ``python docs/make.py``."""',
        "",
        "from typing import Literal",
        "",
        "import polars as pl",
        "",
        "from polars_rank.typing import (",
        *(f"    {name}," for name in used),
        ")",
        "",
        "class ExprRankEval:",
        "    def __init__(self, expr: pl.Expr) -> None: ...",
        *methods,
    ]
    return "\n".join(lines) + "\n"


def typed(metric: Metric) -> Iterator[str]:
    """The method, one line per parameter."""
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


def names(methods: str) -> set[str]:
    """The names that the methods use."""
    tree = ast.parse(f"class ExprRankEval:\n{methods}")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


# -- the tables of the README


def readme() -> str:
    """The README with its tables made anew."""
    text = README.read_text(encoding="utf-8")
    tables = {"measures": measures, "choices": choices, "conventions": conventions}
    for name, table in tables.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- /{name} -->")
        if start:
            text = before + start + table() + end + after
    return text


def choices() -> str:
    """One row per choice of a convention."""
    lines = [f"| choice | `{DEFAULT}` | other values |", "|---|---|---|"]
    for name, choice in CHOICES.items():
        value = getattr(CONVENTIONS[DEFAULT], name)
        others = ", ".join(other_values(choice, value))
        lines.append(f"| `{name}` | `{value}`: {sentence(name, value)} | {others} |")
    return "\n".join(lines)


def other_values(choice: Disputed, value: object) -> Iterator[str]:
    """What else may be chosen."""
    yield from (f"`{other}`" for other in choice.values if other != value)
    if choice.others:
        yield choice.others


def conventions() -> str:
    """One row per convention."""
    lines = ["| convention | tool | in a few words |", "|---|---|---|"]
    for name, tool in TOOLS.items():
        lines.append(f"| `{name}` | {tool.name} | {tool.follows} |")
    return "\n".join(lines)


def measures() -> str:
    """One row per measure."""
    lines = ["| measure | what it measures |", "|---|---|"]
    for name, metric in METRICS.items():
        parameters = f" ({', '.join(metric.defaults)})" if metric.defaults else ""
        summary = metric.summary.replace("|", r"\|")
        lines.append(f"| `{name}`{parameters} | {summary} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
