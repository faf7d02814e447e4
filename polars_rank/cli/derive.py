"""Options of a command out of the signature of the function that it calls.

An option has the name, the type and the default of the parameter, and its line of help
from ``core/vocabulary.py``: so a new parameter of the library is an option at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    Unpack,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from cyclopts import CycloptsError, Group, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank.cli.own_words import EXTENSIONS, METAVARS, OWN, SPELT
from polars_rank.core.vocabulary import PARAMETERS, Kind

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
SEQUENCES = (Sequence, tuple, list)

GROUPS: dict[Kind, Group] = {
    "file": Group("Files", sort_key=1),
    "column": Group("Columns", sort_key=2),
    "choice": Group("Choices", sort_key=3),
    "resource": Group("Resources", sort_key=4),
    "output": Group("Output", sort_key=5),
}


class UsageError(CycloptsError):
    """What is wrong about a command line."""

    def __init__(self, text: str) -> None:
        super().__init__(msg=text)


def assigned(
    option: str, text: str, form: str, read: Callable[[str], T]
) -> tuple[str, T]:
    """Both sides of NAME=VALUE, for an option that takes several."""
    name, _, value = text.rpartition("=")
    try:
        if name:
            return name, read(value)
    except ValueError:
        pass
    raise UsageError(f"{option} is {form}, not {text!r}.")


def options_of(
    *functions: Callable[..., Any],
    only: Iterable[str] = (),
    without: Iterable[str] = (),
    shared: bool = True,
    **changed: Any,
) -> Callable[[F], F]:
    """Give a command the keywords of these functions as options.

    They reach the command in its ``**options``: those whose value is not the default of
    the function, and measures one by one. ``shared`` are those of a ``TypedDict``, too;
    ``changed`` are other defaults. The options of a group, a dataclass, come once.
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
        hints = described(command)
        groups = {name: hint() for name, hint in hints.items() if is_group(hint)}
        own = [
            p.replace(annotation=hints[p.name], default=groups.get(p.name, p.default))
            for p in signature.parameters.values()
            if p.kind is not p.VAR_KEYWORD
        ]
        known = {*signature.parameters, *chain(*map(vars, groups.values()))}
        more = [option(p, changed) for n, p in offered.items() if n not in known]
        parameters = [*own, *more]
        usual = {p.name: tuple_of(offered[p.name].default) for p in more}

        @wraps(command)
        def called(*args: Any, **given: Any) -> Any:
            kept = {
                n: v
                for n, v in {**groups, **changed, **given}.items()
                if n in changed or n not in usual or tuple_of(v) != usual[n]
            }
            if "measures" in kept:
                from polars_rank.measures.measure import split_given  # slow to import

                kept["measures"] = split_given(kept["measures"])
            return command(*args, **kept)

        del called.__wrapped__  # cyclopts would follow it
        paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
        called.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called  # type: ignore[return-value]

    return decorate


def is_group(hint: Any) -> bool:
    """Whether a type is a dataclass, whose fields are options."""
    return isinstance(hint, type) and is_dataclass(hint)


def accepted(
    function: Callable[..., Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Those of the options that a function takes."""
    names = {p.name for p in parameters_of(function)}
    return {name: value for name, value in options.items() if name in names}


def parameters_of(
    function: Callable[..., Any], *, shared: bool = True
) -> list[inspect.Parameter]:
    """All parameters but the first, with types; a shared ``TypedDict`` included."""
    _, *others = inspect.signature(function, eval_str=True).parameters.values()
    found: dict[str, inspect.Parameter] = {}
    for p in others:
        hint = p.annotation
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            found[p.name] = p.replace(kind=p.KEYWORD_ONLY)
        elif shared and p.kind is p.VAR_KEYWORD and get_origin(hint) is Unpack:
            bundle = get_type_hints(get_args(hint)[0], include_extras=True)
            for name, type_ in bundle.items():
                new = p.replace(name=name, kind=p.KEYWORD_ONLY, annotation=type_)
                found.setdefault(name, new.replace(default=None))
    return [*found.values()]


def option(
    parameter: inspect.Parameter, changed: Mapping[str, Any]
) -> inspect.Parameter:
    """The option of a keyword: group and help by the vocabulary."""
    name, word = parameter.name, PARAMETERS[parameter.name]
    hint = str | None if word.kind == "file" else cli_type(parameter.annotation)
    if name == "measures":
        hint = tuple[str, ...]
    default = changed.get(name, parameter.default)
    changes: dict[str, Any] = {}
    if get_origin(hint) is tuple:
        default = tuple_of(default)
        changes["help"] = word.about.removesuffix(".") + "; may be repeated."
    elif default is parameter.empty:  # the command says what is missing
        hint, default = hint | None, None
    elif hint is bool and default:
        changes["negative"] = f"--no-{name.replace('_', '-')}"
    shown = told(name, hint=hint, **changes)
    return parameter.replace(annotation=Annotated[hint, shown], default=default)


def told(name: str, *owners: str, hint: Any = str, **changes: Any) -> Parameter:
    """The option of a parameter: its group, its help, and how it is written.

    Owners, a function and its module, may have words of their own: see ``own_words``.
    """
    names = [*(f"{owner}.{name}" for owner in owners), name]
    own = [OWN[n] for n in names if n in OWN and owners]
    kind, about = own[0] if own else PARAMETERS[name]
    kinds = {hint, *get_args(hint)}
    settings: dict[str, Any] = {"help": about}
    if kinds & {str, Path}:
        settings["metavar"] = METAVARS.get(kind)
    if kind == "output" and Path in kinds:
        settings["validator"] = PathRule(ext=EXTENSIONS.get(name, ()))
    settings |= next((SPELT[n] for n in names if n in SPELT), {})
    return Parameter(group=GROUPS[kind], **{**settings, **changes})


def described(owner: Callable[..., Any]) -> dict[str, Any]:
    """The types of a command's own options, or of a group's, with group and help."""
    owners = owner.__name__, owner.__module__.rpartition(".")[2]
    hints = get_type_hints(owner, include_extras=True)
    return {
        name: hint
        if is_group(hint) or get_origin(hint) is Annotated
        else Annotated[hint, told(name, *owners, hint=hint)]
        for name, hint in hints.items()
        if name not in ("options", "return")
    }


@dataclass_transform(frozen_default=True, kw_only_default=True)
def group(cls: type[T]) -> type[T]:
    """Make a class of options that several commands have."""
    cls.__annotations__ = described(cls)
    return Parameter(name="*")(dataclass(frozen=True, kw_only=True)(cls))


def cli_type(hint: Any) -> Any:
    """The type of an option: text for columns, tuples for sequences."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return cli_type(inside[0])
    if origin is Literal or hint in (bool, int, float, str):
        return hint
    if origin in SEQUENCES:
        return tuple[cli_type(inside[0]), ...]  # type: ignore[misc]
    if origin not in (Union, UnionType):
        return str
    parts = [part for part in inside if part is not NoneType]
    for part in parts:
        if get_origin(part) in SEQUENCES:
            return cli_type(part)
    joined = str if str in parts else cli_type(parts[0])
    return joined | None if NoneType in inside else joined


def tuple_of(value: Any) -> tuple[Any, ...]:
    """None is an empty tuple, one value a tuple of it."""
    if value is None or value is inspect.Parameter.empty:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)
