"""How much values depend on disputed choices, missing labels and labels by a model.

``bounds`` imports evaluation alone; ``estimate`` imports ``bounds``; ``audit`` imports
``bounds`` and ``comparison``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from polars_rank.uncertainty.audit.audit_result import Audit

__all__ = ["Audit"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from polars_rank.uncertainty.audit.audit_result import Audit

    return Audit
