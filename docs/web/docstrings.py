"""Docstrings, as numpydoc reads them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

HEADING = ["Returns", "-------"]
NO_PROSE = re.compile(  # code, links, names of parameters, examples, directives, fields
    r"``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_*|\*\*[^*]+\*\*(?: : [^\n]*)?"
    r"|^ *>>>.*?(?=\n *\n|\Z)|^ *\.\. [^\n]*$|^ *:[\w ]+:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
PLAIN = {  # words of every sentence, single letters; in comparisons queries are tied
    *("document", "query", "rank", "score", "relevant", "label", "grade", "run"),
    *("measure", "weight", "tie", "k", "n", "R"),
}


def returns_in_words(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Put the annotated type above a section Returns that is prose.

    Numpydoc takes every line of such a section for a type.
    """
    for start in range(len(lines) - 1):
        if lines[start : start + 2] == HEADING:
            break
    else:
        return
    start += 2
    end = next(
        (i - 1 for i in range(start, len(lines)) if lines[i].startswith("-----")),
        len(lines),
    )
    said = lines[start:end]
    if len(said) > 1 and said[1].startswith(" "):
        return  # a type and its description already
    lines[start:end] = [annotated(value), *(f"    {line}".rstrip() for line in said)]


def annotated(value: Any) -> str:
    """The type that a function returns, as it is annotated."""
    try:
        found = inspect.signature(value).return_annotation
    except (TypeError, ValueError):
        return "value"
    if found is inspect.Signature.empty:
        return "value"
    return str(getattr(found, "__name__", found))


def with_terms(text: str, terms: Iterable[str]) -> str:
    """Prose whose first mention of each term leads to the glossary."""
    left = {term.lower(): term for term in terms if term not in PLAIN}
    longest = sorted(left, key=len, reverse=True)
    words = "|".join(r"\s+".join(map(re.escape, term.split())) for term in longest)
    mention = re.compile(rf"(?<![\w-])({words})s?(?![\w-])", re.IGNORECASE)

    def link(match: re.Match[str]) -> str:
        found = " ".join(match[1].split())
        term = left.get(found.lower())
        if term is None or (term != found and not term.islower()):
            return match[0]  # mentioned before, or map, the verb
        del left[found.lower()]
        return f":term:`{' '.join(match[0].split())} <{term}>`"

    parts, end = [], 0
    for code in NO_PROSE.finditer(text):
        parts += [mention.sub(link, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, mention.sub(link, text[end:])])
