"""Tables, pictures and the page of results, in all their formats.

Results are shown as they are: no room that makes them is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.report.web.web_page import page

__all__ = ["page"]

__getattr__ = _later(__name__, {"page": "web.web_page"})
