"""The command ``polars-rank``: evaluate, list the measures, explain one."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence

import polars as pl

from polars_rank.errors import DataError
from polars_rank.evaluate import EvaluateOptions

__all__ = ["main"]

PARTS = ("cyclopts", "rich")
FAULTS = (
    DataError,
    OSError,
    MemoryError,
    TypeError,  # a column of the wrong dtype
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
NOISE = re.compile(
    r"\s*^(This error occurred|Resolved plan until failure).*", re.DOTALL | re.MULTILINE
)
KEYWORD = re.compile(
    rf'(?<![^\s(])({"|".join(EvaluateOptions.__annotations__)})=(?:"(\w+)")?'
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    0: done. 1: a file or its rows are at fault. 2: the command line is. 130: Ctrl-C.
    """
    try:
        from cyclopts import CycloptsError

        from polars_rank.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in PARTS:
            raise
        return _fail(f"needs {error.name}: pip install 'polars-rank[cli]'", 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _once()
            run(sys.argv[1:] if argv is None else argv)
            sys.stdout.flush()
    except CycloptsError as error:
        return _fail(_sentence(error), 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has gone; so should what is still buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FAULTS as error:
        return _fail(_sentence(error), 1)
    except ValueError as error:  # what the library says of a wrong argument
        return _fail(_sentence(error), 2)
    return 0


def _fail(text: str, status: int) -> int:
    print(f"polars-rank: {text}", file=sys.stderr)
    return status


def _once() -> Callable[..., None]:
    """Show a warning on one line of stderr, the same one only once."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: object) -> None:
        text = " ".join(_sentence(message).split())
        if text not in seen:
            seen.add(text)
            _fail(f"warning: {text}", 0)

    return show


def _sentence(error: BaseException | str) -> str:
    """Say what an error says, in the words of the command line, safe to print."""
    text = NOISE.sub("", str(error)).strip() or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    text = KEYWORD.sub(_option, text)
    lines = text.split("\n")
    from polars_rank.cli.show import visible

    return "\n".join(map(visible, lines))


def _option(keyword: re.Match[str]) -> str:
    """Write a keyword argument as an option: ``ties="order"`` is ``--ties order``."""
    option = "--" + keyword[1].replace("_", "-")
    return option if keyword[2] is None else f"{option} {keyword[2]}"
