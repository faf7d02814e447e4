"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def later(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package: each name, and its module in there."""

    def imported(name: str) -> object:
        if name not in modules:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        found = getattr(import_module(f"{package}.{modules[name]}"), name)
        return vars(sys.modules[package]).setdefault(name, found)

    return imported
