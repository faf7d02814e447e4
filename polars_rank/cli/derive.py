"""Options of a command out of the signature of the function that it calls.

An option has the name, the type and the default of the parameter, and its line of help
from ``core/vocabulary.py``: so a new parameter of the library is an option at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from cyclopts import Group, Parameter

from polars_rank.core.vocabulary import PARAMETERS, Kind

F = TypeVar("F", bound=Callable[..., Any])

TITLES: dict[Kind, str] = {
    "file": "Files",
    "column": "Columns",
    "choice": "Choices",
    "resource": "Resources",
    "output": "Output",
}
GROUPS = {
    kind: Group(title, sort_key=i)
    for i, (kind, title) in enumerate(TITLES.items(), start=1)
}
METAVARS = {"file": "FILE", "column": "COLUMN"}
NAMED: dict[
    str, dict[str, Any]
] = {  # what differs from --name-of-the-parameter, or says more than the type
    "baseline": {"metavar": "SYSTEM"},
    "choices": {"name": "--choice", "metavar": "NAME"},
    "control": {"metavar": "ARM"},
    "convention": {"metavar": "NAME"},
    "max_rank": {"name": ("--max-rank", "-M"), "metavar": "PLACE"},
    "measure": {"name": ("--measure", "-m"), "metavar": "MEASURE"},
    "measures": {"name": ("--measure", "-m"), "metavar": "MEASURE"},
    "memory_limit": {"metavar": "SIZE"},
    "rel": {"metavar": "GRADE"},
    "temp_dir": {"metavar": "FOLDER"},
}


def options_of(
    *functions: Callable[..., Any],
    only: Iterable[str] = (),
    without: Iterable[str] = (),
    shared: bool = True,
    **changed: Any,
) -> Callable[[F], F]:
    """Give a command the keywords of these functions as options.

    They reach the command in its ``**options``: those whose value is not the default of
    the function. ``shared`` are those of a ``TypedDict``, too; ``changed`` are other
    defaults.
    """
    offered = {
        p.name: p
        for function in functions
        for p in parameters_of(function, shared=shared)
        if (not only or p.name in only)
        and p.name not in without
        and PARAMETERS[p.name].kind != "python"
    }

    def decorate(command: F) -> F:
        signature = inspect.signature(command)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        hints = get_type_hints(command, include_extras=True)
        own = [p.replace(annotation=hints[p.name]) for p in own]
        known = {p.name for p in own}
        more = [option(p, changed) for n, p in offered.items() if n not in known]
        parameters = [*own, *more]
        usual = {p.name: _comparable(offered[p.name].default) for p in more}

        @wraps(command)
        def called(*args: Any, **given: Any) -> Any:
            kept = {
                n: v
                for n, v in {**changed, **given}.items()
                if n in changed or n not in usual or _comparable(v) != usual[n]
            }
            return command(*args, **kept)

        del called.__wrapped__  # cyclopts would follow it
        paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
        called.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called  # type: ignore[return-value]

    return decorate


def parameters_of(
    function: Callable[..., Any], *, shared: bool = True
) -> list[inspect.Parameter]:
    """All parameters but the first, with types; a shared ``TypedDict`` included."""
    hints = get_type_hints(function, include_extras=True)
    _, *others = inspect.signature(function).parameters.values()
    found = []
    for p in others:
        hint = hints.get(p.name, Any)
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            found.append(p.replace(annotation=hint, kind=p.KEYWORD_ONLY))
        elif shared and p.kind is p.VAR_KEYWORD and get_origin(hint) is Unpack:
            bundle = get_type_hints(get_args(hint)[0], include_extras=True)
            known = {parameter.name for parameter in found}
            found += [
                inspect.Parameter(name, p.KEYWORD_ONLY, default=None, annotation=type_)
                for name, type_ in bundle.items()
                if name not in known
            ]
    return found


def option(
    parameter: inspect.Parameter, changed: Mapping[str, Any]
) -> inspect.Parameter:
    """The option of a keyword: group and help by the vocabulary."""
    name = parameter.name
    word = PARAMETERS[name]
    hint = cli_type(parameter.annotation, file=word.kind == "file")
    if name == "measures":
        hint = tuple[str, ...]
    default = changed.get(name, parameter.default)
    several = get_origin(hint) is tuple
    if several:
        default = tuple_of(default)
    elif default is parameter.empty:  # the command says what is missing
        hint, default = hint | None, None
    about = word.about
    if several:
        about = about.removesuffix(".") + "; may be repeated."
    changes: dict[str, Any] = {"help": about}
    if hint is bool and default:
        changes["negative"] = f"--no-{name.replace('_', '-')}"
    shown = told(name, **changes)
    return parameter.replace(annotation=Annotated[hint, shown], default=default)


def told(name: str, about: str | None = None, /, **changes: Any) -> Parameter:
    """The group and help of a parameter; with ``about``, of what only a command has.

    ``name`` is then that of the group.
    """
    if about is None:
        kind, about = PARAMETERS[name]
    else:
        kind = cast("Kind", name)
    settings = {"metavar": METAVARS.get(kind), "help": about, **NAMED.get(name, {})}
    return Parameter(group=GROUPS[kind], **{**settings, **changes})


def cli_type(hint: Any, *, file: bool = False) -> Any:
    """The type of an option: text for columns and files, tuples for sequences."""
    if file:
        return str | None
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return cli_type(inside[0])
    if origin is Literal or hint in (bool, int, float, str):
        return hint
    if origin in (Union, UnionType):
        parts = [part for part in inside if part is not NoneType]
        sequences = [part for part in parts if _is_sequence(part)]
        if sequences:
            return tuple[cli_type(get_args(sequences[0])[0]), ...]  # type: ignore[misc]
        if len(parts) > 1 and str in parts:
            return str | None if NoneType in inside else str
        joined = cli_type(parts[0])
        return joined | None if NoneType in inside else joined
    if _is_sequence(hint):
        return tuple[cli_type(inside[0]), ...]  # type: ignore[misc]
    return str


def _is_sequence(hint: Any) -> bool:
    return get_origin(hint) in (Sequence, tuple, list)


def _comparable(value: Any) -> Any:
    """None is what an empty tuple is, and one name what a tuple of it is."""
    several = isinstance(value, (list, tuple))
    return tuple_of(value) if several or value is None else (value,)


def tuple_of(default: Any) -> tuple[Any, ...]:
    """None is an empty tuple, one name a tuple of it."""
    if default is None or default is inspect.Parameter.empty:
        return ()
    return (default,) if isinstance(default, str) else tuple(default)
