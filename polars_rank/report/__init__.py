"""Tables, pictures and the page of results, in all their formats."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from polars_rank.report.web.web_page import page

__all__ = ["page"]


def __getattr__(name: str) -> object:
    if name != "page":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from polars_rank.report.web.web_page import page

    return page
