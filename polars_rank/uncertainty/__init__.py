"""How much values depend on disputed choices, missing labels and labels by a model.

``bounds`` imports evaluation alone; ``estimate`` imports ``bounds``; ``audit`` imports
``bounds`` and ``comparison``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.uncertainty.audit.audit_result import Audit

__all__ = ["Audit"]

__getattr__ = _later(__name__, {"Audit": "audit.audit_result"})
