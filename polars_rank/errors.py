"""What goes wrong in the data: one exception, with counts and examples."""

from __future__ import annotations

__all__ = ["DataError"]


class DataError(ValueError):
    """The data break a rule: the message names the rule, the rows and the way out.

    Wrong arguments raise ``ValueError`` and ``TypeError`` when the expression or
    plan is built; ``DataError`` is raised when the rows themselves are at fault.
    """
