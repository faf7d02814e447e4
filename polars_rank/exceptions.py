"""The error for data that break a rule, and the warning for doubtful results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

__all__ = ["DataError", "DataWarning"]

_RAISED: OrderedDict[str, tuple[str, int | None, tuple[object, ...]]] = OrderedDict()
_REMEMBERED = 64


class DataWarning(UserWarning):
    """The result may not be what it seems, e.g. because the run lacks judged queries.

    It is also the category of the warnings of ``check="warn"``. Each evaluation shows
    its own warnings; to silence them, use
    ``warnings.filterwarnings("ignore", category=pr.DataWarning)``.
    """


class DataError(ValueError):
    """Rows break a rule: the message names the rule, the rows and the way out.

    Wrong arguments raise ``ValueError`` and ``TypeError`` when the expression or
    plan is built; ``DataError`` is raised when the rows themselves are at fault.

    Attributes
    ----------
    rule
        Name of the rule, e.g. ``"duplicate_doc"``; None for a file that cannot be read.
    count
        Number of rows (or queries) seen that break it; None if not counted.
    examples
        Some of the queries concerned: a value, or a tuple of several key columns.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame({"query_id": [1], "score": [float("nan")], "label": [1]})
    >>> try:
    ...     pr.evaluate(log, "rr")
    ... except pr.DataError as error:
    ...     print(error.rule, error.count, error.examples)
    nan_score 1 (1,)
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str | None = None,
        count: int | None = None,
        examples: Sequence[object] = (),
    ) -> None:
        if rule is None:
            message, rule, count, examples = _recalled(message)
        else:
            _RAISED[message] = rule, count, tuple(examples)
            while len(_RAISED) > _REMEMBERED:
                _RAISED.popitem(last=False)
        super().__init__(message)
        self.rule = rule
        self.count = count
        self.examples = tuple(examples)


def counted(count: int, of: str) -> str:
    """Say how many there are of a noun: ``1 row``, ``2 rows``, ``2 queries``."""
    several = f"{of[:-1]}ies" if of.endswith("ry") else f"{of}s"
    return f"{count} {of if count == 1 else several}"


def _recalled(
    message: str,
) -> tuple[str, str | None, int | None, tuple[object, ...]]:
    """The details of the error that was raised inside a plan.

    Polars makes an exception of the same class from the message alone, and appends its
    own plan.
    """
    for known, details in reversed(list(_RAISED.items())):
        if message == known or message.startswith(f"{known}\n"):
            return known, *details
    return message, None, None, ()
