"""What is raised when data break a rule."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["DataError"]


class DataError(ValueError):
    """The data break a rule: the message names the rule, the rows and the way out.

    Wrong arguments raise ``ValueError`` and ``TypeError`` when the expression or
    plan is built; ``DataError`` is raised when the rows themselves are at fault.

    Attributes
    ----------
    rule
        Name of the rule, e.g. ``"duplicate_doc"``; None for a file that cannot be read.
    count
        How many rows (or queries) were seen that break it; None if not counted.
    examples
        Some of the queries concerned: a value, or a mapping of several key columns.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str | None = None,
        count: int | None = None,
        examples: Sequence[object] = (),
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.count = count
        self.examples = tuple(examples)
