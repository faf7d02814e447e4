"""What a page or a section is about, which the search shows below its name.

Sphinx reads these words from the pages that it found. A browser refuses that where the
site is read from files, so they are in the page of the search.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes

LONGEST = 200  # characters


def summaries(env: Any) -> dict[str, dict[str, str]]:
    """The first words by page and anchor; a page itself has an empty one."""
    return {page: dict(of_sections(env.get_doctree(page))) for page in env.all_docs}


def of_sections(doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Anchor and first words of every section that begins with a paragraph."""
    for section in doctree.findall(nodes.section):
        if words := first_words(section):
            anchors = section["ids"] if section.parent is not doctree else [""]
            yield from ((anchor, words) for anchor in anchors)


def first_words(section: nodes.section) -> str:
    """The first paragraph of a section, or of the docstring in it."""
    for node in section.children:
        if isinstance(node, nodes.section):
            break
        found = node.findall(nodes.paragraph) if isinstance(node, addnodes.desc) else ()
        if isinstance(node, nodes.paragraph):
            found = (node,)
        for paragraph in found:
            return textwrap.shorten(paragraph.astext(), LONGEST, placeholder=" ...")
    return ""
