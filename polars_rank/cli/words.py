"""Words for a terminal: safe to print, and in the language of the command line."""

from __future__ import annotations

import re
import sys
from inspect import signature

from polars_rank.clicks.log import LogColumns, LogOptions
from polars_rank.evaluation.evaluate import evaluate

__all__ = ["remark", "sentence", "visible"]

COMPARED = "alternative baseline cluster correction interval margin pairs resamples"
KEYWORDS = [*signature(evaluate).parameters, *COMPARED.split(), "seed", "test"]
KEYWORDS += [*LogColumns.__annotations__, *LogOptions.__annotations__]
KEYWORDS += ["arm", "control", "team", "interval", "count_queries", "credit"]
KEYWORD = re.compile(
    rf"(?<![^\s(])({'|'.join(KEYWORDS)})="
    r"""(?:["']([\w -]+)["']|(None))?"""
)


def remark(text: str) -> None:
    """Say something on standard error."""
    print(f"polars-rank: {text}", file=sys.stderr)


def visible(text: object) -> str:
    """Spell out what a terminal would obey or hide: ``\\x1b[31m``, line ends."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def sentence(error: BaseException | str) -> str:
    """Say what an error says: the first paragraph, with options for keywords.

    What follows in messages of Polars is its plan, and advice about its arguments.
    """
    text = str(error).split("\n\n")[0].strip() or type(error).__name__
    if isinstance(error, OSError) and error.strerror is not None:
        file = "" if error.filename is None else f"{error.filename}: "
        text = f"{file}{error.strerror}"
    return "\n".join(map(visible, KEYWORD.sub(_option, text).split("\n")))


def _option(keyword: re.Match[str]) -> str:
    """Write a keyword argument as an option: ``ties="order"`` is ``--ties order``."""
    option = "--" + keyword[1].replace("_", "-")
    value = "none" if keyword[3] else keyword[2]
    return option if value is None else f"{option} {value}"
