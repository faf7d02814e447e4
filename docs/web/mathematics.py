"""Formulas: TeX becomes MathML when the site is built."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator: Any, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own; a long one can be moved sideways."""
    formula = convert(rf"\displaystyle {node.astext().strip()}", display="block")
    translator.body.append(
        f'<div class="formula" tabindex="0" role="group" aria-label="formula">{formula}'
        "</div>\n"
    )
    raise nodes.SkipNode
