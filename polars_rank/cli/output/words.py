"""Words for a terminal: safe to print, and in the language of the command line."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager

from polars_rank.report.table import visible

STDIN = "standard input"  # - on the command line
NOTHING: frozenset[str] = frozenset()
TEXT = """(?:'[^'\n]*'|"[^"\n]*")"""
# An argument with its value, or a word: with an underscore, or at the start of a
# message such as "ties must be ...". What is quoted is the user's: 'ap(rel=2)'.
ARGUMENT = re.compile(
    rf"""(?<![\w=]){TEXT}
    |(?<![^\s(])(?<!\w\()([a-z_]+)=
        (?:[\[(]({TEXT}(?:,[ ]{TEXT})*)[\])]|({TEXT})|(None|True|False|\d[\w.]*))?
    |(?<![\w=(.-])([a-z]+(?:_[a-z]+)+)(?![\w=(])
    |^([a-z]+)(?=[ ](?:must|names?|is|belongs)[ ])""",
    re.VERBOSE,
)
SPELT = {
    "measures": "measure",
    "choices": "choice",
    "descending": "no-descending",
    "about_documents": "documents",
    "about_queries": "queries",
}
# Advice that is of use in Python only, up to the end of the clause.
PYTHON = re.compile(
    r", (?:e\.g\.|or name the measure|with judgments such as) (?:with )?"
    r"(?:p[lr]|qrels)\.[a-z]\w*\((?:[^\s;]|(?<=,) )*\)(?: == 1)?|, or None(?=, not )"
    r"|(?<=to a smaller number) before polars is imported"
)


def remark(text: str) -> None:
    """Say something on standard error."""
    print(f"polars-rank: {text}", file=sys.stderr)


def terminal() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()


def emit(text: str) -> None:
    """Write to standard output what its encoding can hold."""
    encoding = sys.stdout.encoding or "utf-8"
    with standard_output():
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


@contextmanager
def standard_output() -> Iterator[None]:
    """Name standard output if it cannot be written to, as on a full disk."""
    try:
        yield
    except BrokenPipeError:  # its reader has seen enough
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def sentence(
    error: BaseException | str, options: Set[str] = NOTHING, others: Set[str] = NOTHING
) -> str:
    """Say what an error says: the first paragraph, with options for arguments.

    ``options`` are those of the command; of ``others``, which the command ``evaluate``
    has, the message says so. What follows in Polars' messages is its plan, and advice
    about its arguments.
    """
    text = str(error).split("\n\n")[0].strip() or type(error).__name__
    if isinstance(error, OSError) and error.strerror is not None:
        file = "" if error.filename is None else f"{error.filename}: "
        text = f"{file}{error.strerror}"

    def as_option(found: re.Match[str]) -> str:
        given, listed, single, plain, word, first = found.groups()
        name = given or word or first
        if name is None:
            return found[0]
        option = "--" + SPELT.get(name, name.replace("_", "-"))
        if option not in options | others:
            return found[0]
        more = "" if option in options else " (of evaluate)"
        return _written(option, listed or single, plain) + more

    text = ARGUMENT.sub(as_option, PYTHON.sub("", text))
    return "\n".join(map(visible, text.split("\n")))


def _written(option: str, texts: str | None = None, plain: str | None = None) -> str:
    """An option with its values: ``--ties order``; a flag has none."""
    if texts is not None:
        values = [text[1:-1] for text in re.findall(TEXT, texts)]
        return " ".join(f"{option} {shlex.quote(value)}" for value in values)
    if plain is None or plain in ("True", "False"):
        return option
    return f"{option} {'none' if plain == 'None' else plain}"
