"""Count the lines of the package by folder: code, docstrings and comments.

    python benchmarks/code_size.py [FOLDER]

A line of code holds a token that is neither a comment nor part of a docstring.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def counted(path: Path) -> Counter[str]:
    text = path.read_text()
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        if token.type not in NO_CODE:
            code |= {*range(token.start[0], token.end[0] + 1)}
    return Counter(
        files=1,
        lines=len(text.splitlines()),
        code=len(code - docstrings),
        docstrings=len(docstrings),
        comments=len(comments),
    )


def main() -> None:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "polars_rank"
    folders: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        folders.setdefault(parts[0] if len(parts) > 1 else ".", Counter()).update(
            counted(path)
        )
    total = sum(folders.values(), Counter[str]())
    names = ("files", "lines", "code", "docstrings", "comments")
    print(f"{'':<16}" + "".join(f"{name:>12}" for name in names))
    for folder, counts in [*sorted(folders.items()), ("total", total)]:
        print(f"{folder:<16}" + "".join(f"{counts[name]:>12,}" for name in names))


if __name__ == "__main__":
    main()
