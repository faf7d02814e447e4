"""Warn in a forked process, which lacks Polars' threads and can hang."""

from __future__ import annotations

import os
import warnings

# A fork copies only the thread that calls it (POSIX), so the child has none of Polars'
# pool, and a lock that one of them held is never released. Polars' user guide,
# "Multiprocessing", asks for other start methods for this reason.
_has_run = False
_is_forked = False


def note_run() -> None:
    """Note that Polars has planned or run an evaluation in this process."""
    global _has_run
    _has_run = True


def warn_if_forked() -> None:
    """Warn once in a process that was forked after that and lacks Polars' threads.

    The warning comes before the work, which may wait for them forever.
    """
    global _is_forked
    if _is_forked:
        _is_forked = False
        warnings.warn(
            "this process was forked from one that had planned or evaluated something; "
            "Polars can hang in such a process: start it with "
            "multiprocessing.get_context('spawn') or 'forkserver'",
            RuntimeWarning,
            stacklevel=4,
        )


def _after_fork() -> None:
    global _is_forked
    _is_forked = _has_run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
