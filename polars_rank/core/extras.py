"""Optional packages, imported when a function that needs them is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import a module of an extra; if it is not there, name the extra.

    Examples
    --------
    >>> require("math", "stats").sqrt(4)
    2.0
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        msg = f"this needs {package}: pip install 'polars-rank[{extra}]'"
        raise ModuleNotFoundError(msg, name=error.name) from error
