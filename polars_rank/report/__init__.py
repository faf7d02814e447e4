"""Tables, pictures and the page of results, in all their formats."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.report.web.web_page import page

__all__ = ["page"]

__getattr__ = _later(__name__, {"page": "web.web_page"})
