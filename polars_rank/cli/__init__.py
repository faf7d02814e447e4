"""The command ``polars-rank``: evaluate, list the measures, explain one."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence

import polars as pl

from polars_rank.cli.words import sentence
from polars_rank.errors import DataError

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
        return _fail(sentence(error), 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has gone; so should what is still buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FAULTS as error:
        return _fail(sentence(error), 1)
    except ValueError as error:  # what the library says of a wrong argument
        return _fail(sentence(error), 2)
    return 0


def _fail(text: str, status: int) -> int:
    print(f"polars-rank: {text}", file=sys.stderr)
    return status


def _once() -> Callable[..., None]:
    """Show a warning on one line of stderr, the same one only once."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: object) -> None:
        text = " ".join(sentence(message).split())
        if text not in seen:
            seen.add(text)
            _fail(f"warning: {text}", 0)

    return show
