"""Evaluation in bounded memory: queries in buckets on disk, evaluated in turn.

``source`` is the lazy frame, ``spill`` the work; ``budget`` says how many buckets,
``buckets`` fills them, ``temporary`` and ``resume`` keep their folder.
"""

from __future__ import annotations

from polars_rank.engine.bounded.budget import Budget, parse_memory_limit, size_of
from polars_rank.engine.bounded.progress import Listener, Progress
from polars_rank.engine.bounded.source import bounded

__all__ = ["Budget", "Listener", "Progress", "bounded", "parse_memory_limit", "size_of"]
