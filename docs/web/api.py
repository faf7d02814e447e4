"""The reference of the Python API: a page per public name, from its docstring."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

ROOMS = {  # what is imported, and the title of its page
    "polars_rank": "polars_rank",
    "polars_rank.namespaces": "Methods of expressions and frames",
    "polars_rank.comparison": "Comparison",
    "polars_rank.uncertainty": "Uncertainty",
    "polars_rank.analysis": "Analysis",
    "polars_rank.clicks": "Click logs",
    "polars_rank.fusion": "Fusion",
    "polars_rank.recommend": "Recommenders",
    "polars_rank.report": "Reports",
    "polars_rank.parts": "Data in parts",
    "polars_rank.ray": "Ray",
    "polars_rank.spark": "Spark",
    "polars_rank.dask": "Dask",
    "polars_rank.io": "Files and formats",
    "polars_rank.example": "Example data",
    "polars_rank.metrics": "Registry of metrics",
    "polars_rank.exceptions": "Errors and warnings",
    "polars_rank.typing": "Types",
}
INTEGRATIONS = "polars_rank.integrations"


def rooms() -> dict[str, str]:
    """All modules with public names, and their titles."""
    package = importlib.import_module(INTEGRATIONS)
    inner = {
        f"{INTEGRATIONS}.{module.name}": f"Integration: {module.name}"
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    }
    return ROOMS | inner


def pages() -> dict[str, str]:
    """Path and text of every page of the reference."""
    made: dict[str, str] = {}
    home: dict[int, str] = {}  # where an object that several rooms have is described
    for room, title in rooms().items():
        module = importlib.import_module(room)
        rows, entries = [], []
        for name, value in public(module):
            full = f"{room}.{name}"
            shared = callable(value)
            page = home.setdefault(id(value), full) if shared else full
            rows.append((name, page, summary(value)))
            if page == full:
                made[f"api/{full}.rst"] = described(full, value)
                entries.append(full)
        made[f"api/{room}.rst"] = listed(room, title, module, rows, entries)
    made["api/index.rst"] = index()
    return made


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module but other modules, in alphabetical order."""
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield name, value


def described(full: str, value: Any) -> str:
    """The page of one name."""
    module, _, name = full.rpartition(".")
    if inspect.isclass(value):
        directive, options = "autoclass", ["members", "inherited-members"]
        if issubclass(value, (dict, tuple, Exception)):
            options = ["members"]
    elif inspect.isroutine(value):
        directive, options = "autofunction", []
    else:
        directive, options = "autodata", ["no-value"]
    lines = [f".. {directive}:: {full}", *(f"   :{option}:" for option in options)]
    return f"{heading(name)}\n.. currentmodule:: {module}\n\n" + "\n".join(lines) + "\n"


def listed(
    room: str,
    title: str,
    module: ModuleType,
    rows: list[tuple[str, str, str]],
    entries: list[str],
) -> str:
    """The page of a module: what it is, and its names."""
    text = f"{heading(title)}\n.. module:: {room}\n\n{inspect.getdoc(module) or ''}\n\n"
    text += ".. list-table::\n   :widths: 30 70\n\n"
    for name, page, words in rows:
        text += f"   * - :doc:`{name} <{page}>`\n     - {words}\n"
    return text + toctree(entries)


def index() -> str:
    """The page of all modules."""
    text = heading("API reference") + "Every public name, from its docstring.\n\n"
    for room, title in rooms().items():
        text += f"* :doc:`{title} <{room}>` (``{room}``)\n"
    return text + toctree(list(rooms()))


def toctree(entries: list[str]) -> str:
    """The pages below a page."""
    if not entries:
        return ""
    return "\n.. toctree::\n   :hidden:\n   :maxdepth: 1\n\n" + "".join(
        f"   {entry}\n" for entry in entries
    )


def summary(value: Any) -> str:
    """The first paragraph of a docstring in one line."""
    if not callable(value):
        return ""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def heading(title: str) -> str:
    """A title with its line."""
    return f"{title}\n{'=' * len(title)}\n\n"
