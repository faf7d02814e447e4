"""Write what follows from the registry: ``python docs/make.py``.

The types of the methods on expressions (``polars_rank/namespaces/expr.pyi``) and, in
``docs/pages.py``, the pages of measures, the tables of conventions and the README's
table. The tests fail while they differ from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

from polars_rank import typing
from polars_rank.metrics import of_vocabulary
from polars_rank.namespaces.expr import ExprRankEval, expr

HOUSE = Path(__file__).resolve().parent.parent
STUB = HOUSE / "polars_rank" / "namespaces" / "expr.pyi"


def main() -> None:
    """Rewrite the files."""
    STUB.write_text(stub(), encoding="utf-8")
    pages()


# -- the types of the methods


def stub() -> str:
    """A typed method for every metric, for several, and for contributions to one."""
    summaries = {m.name: m.summary for m in of_vocabulary("ranking").values()}
    for other in ("per_query", "contribution"):
        described = getattr(ExprRankEval, other).__doc__ or ""
        summaries[other] = described.partition("\n")[0]
    methods = [line for method in summaries.items() for line in typed(*method)]
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
        "",
        "def expr(label: Column) -> ExprRankEval:",
        f'    """{(expr.__doc__ or "").partition(chr(10))[0]}"""',
    ]
    return "\n".join(lines) + "\n"


def typed(name: str, summary: str) -> Iterator[str]:
    """The method, one line per parameter."""
    yield f"    def {name}("
    keyword_only = False
    for parameter in signature(name).values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "        *,"
        yield f"        {written(parameter)},"
    yield "    ) -> pl.Expr:"
    yield f'        """{summary}"""'


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


def signature(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of the method."""
    return dict(inspect.signature(getattr(ExprRankEval, name)).parameters)


def names(methods: str) -> set[str]:
    """The names that the methods use."""
    tree = ast.parse(f"class ExprRankEval:\n{methods}")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


# -- the pages and the README's table

_PAGES = run_path(str(HOUSE / "docs" / "pages.py"))
README, readme, pages = _PAGES["README"], _PAGES["readme"], _PAGES["main"]


if __name__ == "__main__":
    main()
