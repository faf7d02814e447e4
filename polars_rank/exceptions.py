"""What is raised when data break a rule."""

from __future__ import annotations

__all__ = ["DataError"]


class DataError(ValueError):
    """The data break a rule: the message names the rule, the rows and the way out.

    Wrong arguments raise ``ValueError`` and ``TypeError`` when the expression or
    plan is built; ``DataError`` is raised when the rows themselves are at fault.
    """
