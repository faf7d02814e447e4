"""Why a value moved: documents, queries and segments, and what each adds.

Files import ``contributions``; nothing here imports the command.
"""

from __future__ import annotations

from polars_rank.analysis.contributions import contributions

__all__ = ["contributions"]
