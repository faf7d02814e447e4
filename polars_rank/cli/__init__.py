"""The command ``polars-rank``: evaluate, compare, gate, list and explain measures.

The files beside the rooms are the grammar. They import ``output``, ``input`` imports
them, and ``commands`` imports all.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence

import polars as pl

from polars_rank._files.signals import clean_on_signals
from polars_rank.cli.output.words import remark, sentence, standard_output
from polars_rank.exceptions import DataError

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

    0: done. 1: a file or its rows are at fault. 2: the command line is. 3: a gate says
    that the ranking got worse, or a split breaks a rule of --fail-on. 129: the terminal
    was closed. 130: Ctrl-C. 141: the reader of the output has gone. 143: SIGTERM.
    """
    if sys.stdout is None:  # closed by the shell: >&-
        return _fail("standard output is closed; send it to /dev/null instead", 1)
    if argv is None:
        clean_on_signals()
    try:
        from cyclopts import CycloptsError

        from polars_rank.cli.app import options, run
    except ModuleNotFoundError as error:
        part = str(error.name).partition(".")[0]
        if part not in PARTS:
            raise
        return _fail(f"needs {part}: pip install 'polars-rank[cli]'", 2)
    words = list(sys.argv[1:] if argv is None else argv)

    def said(error: BaseException | str) -> str:
        return sentence(error, options(words), options(["evaluate"]))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _teller(said)  # type: ignore[assignment]
            status = run(words)
            with standard_output():
                sys.stdout.flush()
    except CycloptsError as error:
        more = ""
        if words[:1] == ["measures"] and "Unused Tokens" in str(error):
            more = f" A measure is explained by: polars-rank explain {words[1]}"
        if {"-k", "--k", "--cutoff"} & {*words} and "-m" in options(words):
            more = " A cutoff is part of the measure: -m ndcg@10"
        return _fail(sentence(error) + more, 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has gone; so should what is still buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as if SIGPIPE had ended it
    except FAULTS as error:
        return _fail(said(error), 1)
    except ValueError as error:  # what the library says of a wrong argument
        return _fail(said(error), 2)
    except ModuleNotFoundError as error:
        if "polars-rank[" not in str(error):
            raise
        return _fail(sentence(error), 2)
    return status


def _fail(text: str, status: int) -> int:
    remark(text)
    return status


def _teller(said: Callable[[str], str]) -> Callable[..., str]:
    """Show warnings as lines on standard error, each once."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: object) -> str:
        text = " ".join(said(str(message)).split())
        if text not in told:
            told.add(text)
            remark(f"warning: {text}")
        return text

    return tell
