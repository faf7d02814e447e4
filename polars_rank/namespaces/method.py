"""A metric as a method of its label expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from inspect import Parameter, Signature
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import polars as pl

from polars_rank.conventions.choices import CHOICES
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import (
    DEFAULT,
    ConventionLike,
    complete_arguments,
    convention_of,
)
from polars_rank.core.expr import as_expr
from polars_rank.core.metric import documentation
from polars_rank.core.metric.registry import Metric, check, check_policy, closest, value
from polars_rank.core.parameters import Doc
from polars_rank.core.parameters import Parameter as Argument
from polars_rank.core.rules import NEGATIVE_GRADE
from polars_rank.core.weights import DiscountLike, GainLike
from polars_rank.core.words.binding import bind
from polars_rank.core.words.noting import Formula
from polars_rank.core.words.ranking import Ideal, NoRelevant, Ranking, Ties
from polars_rank.typing import Column


class Options(NamedTuple):
    """Arguments of a method besides the metric's parameters; None means not given."""

    score: Annotated[
        Column | None,
        Doc("scores: a column or an expression; the highest is ranked first"),
    ] = None
    rank: Annotated[
        Column | None,
        Doc("known ranks, counted from 1, instead of scores; null: not retrieved"),
    ] = None
    doc: Annotated[
        Column | None, Doc("document ids; compared as text, they order equal scores")
    ] = None
    ties: Annotated[
        Ties | None,
        Doc("order of equal scores; None: the convention's (without doc: input order)"),
    ] = None
    no_relevant: Annotated[
        NoRelevant | None,
        Doc("value if nothing is relevant; None: the convention's"),
    ] = None
    convention: Annotated[
        ConventionLike,
        Doc(
            "tool whose choices apply to what is not given; an expression cannot "
            "count queries that are missing from the run"
        ),
    ] = DEFAULT


OPTIONS = Options()


def method(metric: Metric) -> Callable[..., pl.Expr]:
    """Build the method; it needs a score where ``rank=`` cannot replace it."""
    options = _options(metric)
    names = [option.name for option in options[1:]]

    def call(self: Any, score: Column | None, **arguments: Any) -> pl.Expr:
        params = {n: v for n, v in arguments.items() if n not in names}
        for name in params:
            if name not in metric.parameters:
                msg = (
                    f"{call.__qualname__}() got an unexpected keyword argument "
                    f"{name!r}{closest(name, [*metric.parameters, *names])}"
                )
                raise TypeError(msg)
        given = {n: v for n, v in arguments.items() if n in names}
        return expr_of(metric, self._label, params, Options(score, **given))

    call.__name__, call.__qualname__ = metric.name, f"ExprRankEval.{metric.name}"
    if not metric.uses_scores:
        call.__defaults__ = (None,)
    defaults = complete_arguments(metric)
    own = [
        _parameter(p.name, p.hint, defaults[p.name]) for p in metric.parameters.values()
    ]
    first, *others = options
    receiver = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    signature = Signature([receiver, first, *own, *others], return_annotation="pl.Expr")
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = _described(metric, options)
    return call


def expr_of(
    metric: Metric,
    label: pl.Expr,
    params: dict[str, Any],
    options: Options,
    bind: Callable[..., pl.Expr] = bind,
) -> pl.Expr:
    """Return the metric over raw columns, under a convention; ``bind`` binds it."""
    asked = asked_of(metric, label, params, options)
    return bind(
        asked.formula,
        label,
        score=asked.score,
        rank=options.rank,
        doc=options.doc,
        ties=asked.ties,
    )


class Asked(NamedTuple):
    """A metric with its choices made: a formula, the scores, and the order of ties."""

    formula: Formula
    score: Column | None
    ties: Ties | None


def asked_of(
    metric: Metric, label: pl.Expr, params: dict[str, Any], options: Options
) -> Asked:
    """Return the formula of the metric under a convention."""
    convention = convention_of(options.convention)
    require_all_judged(convention)
    params = complete_arguments(metric, check(metric, params), convention=convention)
    columns = {role: getattr(options, role) for role in ("score", "rank", "doc")}
    for role, column in columns.items():
        _require_column(role, column, metric)
    _require_distinct({"label": label} | columns)
    ties = ties_of(options, convention) if metric.tie_sensitive else options.ties
    no_relevant = options.no_relevant
    if no_relevant is None:
        no_relevant = convention.no_relevant_of(metric.name)
    check_policy(metric, params, ties, no_relevant)
    reads = (metric, params, no_relevant, convention, options.rank is not None)
    return Asked(_formula(*reads), score_of(options, convention), ties)


def require_all_judged(convention: Convention) -> None:
    """Refuse a convention that drops rows, which an expression cannot."""
    if convention.unjudged == "drop":
        msg = (
            'unjudged="drop" is not possible in an expression: filter the rows '
            "(label >= 0) first, or evaluate a frame"
        )
        raise ValueError(msg)


def ties_of(options: Options, convention: Convention) -> Ties | None:
    """Return the order of ties; None: what the columns allow."""
    if options.ties is not None or options.rank is not None:
        return options.ties
    needs_doc = convention.ties in ("doc_desc", "doc_asc")
    return None if needs_doc and options.doc is None else convention.ties


def score_of(options: Options, convention: Convention) -> Column | None:
    """Return the scores, as precise as the convention has them."""
    if options.score is not None and convention.score_dtype == "float32":
        return (as_expr(options.score) + 0).cast(pl.Float32)
    return options.score


def _formula(
    metric: Metric,
    params: dict[str, Any],
    no_relevant: NoRelevant,
    convention: Convention,
    ranked: bool,
) -> Callable[[Ranking], pl.Expr]:
    """Return the formula of one ranked list; of equal arguments, the same object."""
    judgments = convention.judgments if ranked else "judged"
    chosen = (no_relevant, convention.negative_grade, judgments)
    if any(map(callable, params.values())):
        return _read_by(metric, (*params.items(),), *chosen)
    try:
        return _known_formula(metric, (*params.items(),), *chosen)
    except TypeError:  # gains that cannot be hashed
        return _read_by(metric, (*params.items(),), *chosen)


def _read_by(
    metric: Metric,
    params: tuple[tuple[str, Any], ...],
    no_relevant: NoRelevant,
    negative_grade: str,
    judgments: Ideal,
) -> Callable[[Ranking], pl.Expr]:
    def formula(r: Ranking) -> pl.Expr:
        if negative_grade == "error":
            r.forbid(r.label < 0, NEGATIVE_GRADE)
        # By scores, all that is judged was retrieved.
        return value(metric, r.ideal_over(judgments), dict(params), no_relevant)

    return formula


_known_formula = lru_cache(maxsize=256)(_read_by)


def _require_column(role: str, column: Column | None, metric: Metric) -> None:
    if column is None or isinstance(column, str | pl.Expr):
        return
    msg = (
        f"{role} must be the name of a column or an expression, not of type "
        f"{type(column).__name__}"
    )
    if role == "score" and isinstance(column, int) and metric.named("k"):
        msg += f"; give the cutoff as k=: {metric.name}('score', k={column})"
    raise TypeError(msg)


def _require_distinct(columns: Mapping[str, Column | None]) -> None:
    """Raise ``ValueError`` where a plain column has two roles, as in a frame."""
    taken: dict[str, str] = {}
    for role, column in columns.items():
        if column is None:
            continue
        name = column
        if isinstance(name, pl.Expr):
            if not name.meta.is_column():
                continue
            name = name.meta.output_name()
        if name in taken:
            msg = (
                f"{taken[name]} and {role} are both column {name!r}, which can be only "
                f"one of them; name the other with {role}="
            )
            raise ValueError(msg)
        taken[name] = role


# -- signature and help

TYPES: dict[str, Any] = get_type_hints(Options)
DESCRIPTIONS: dict[str, str] = {
    name: get_args(hint)[1].text
    for name, hint in get_type_hints(Options, include_extras=True).items()
}


def _options(metric: Metric) -> list[Parameter]:
    """Return the options that apply to the metric; the score comes first."""
    useful = {
        "rank": not metric.uses_scores,
        "doc": metric.tie_sensitive,
        "ties": metric.tie_sensitive,
        "no_relevant": metric.needs_relevant,
    }
    score, *others = (
        _parameter(name, TYPES[name], getattr(OPTIONS, name))
        for name in Options._fields
        if useful.get(name, True)
    )
    score = score.replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    if metric.uses_scores:
        score = score.replace(annotation="Column", default=Parameter.empty)
    return [score, *others]


def _parameter(name: str, hint: Any, default: object) -> Parameter:
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=spell(hint)
    )


def _described(metric: Metric, options: list[Parameter]) -> str:
    """Return the documentation of the method, with a block about every parameter."""
    names = [option.name for option in options]
    own = {p.name: _description(p) for p in metric.parameters.values()}
    texts = DESCRIPTIONS | own
    for name in ("ties", "no_relevant"):
        texts[name] = _with_values(DESCRIPTIONS[name], CHOICES[name].values)
    block = documentation.block((n, texts[n]) for n in (names[0], *own, *names[1:]))
    return documentation.text(metric, block)


NAMED = {get_args(GainLike)[0]: "Gain", get_args(DiscountLike)[0]: "Discount"}
NAMED |= {Column: "Column", Ties: "Ties", NoRelevant: "NoRelevant"}
NAMED |= {ConventionLike: "ConventionLike"}


def _description(parameter: Argument) -> str:
    """Return the description of the parameter and of its values."""
    values = parameter.doc.values
    if not values and parameter.meaning in CHOICES:
        values = CHOICES[parameter.meaning].values
    allowed = {v: words for v, words in values.items() if parameter.allowed.test(v)}
    return _with_values(parameter.doc.text, allowed)


def _with_values(text: str, values: Mapping[Any, str]) -> str:
    said = (
        (f'"{value}"' if isinstance(value, str) else str(value)) + f": {words}"
        for value, words in values.items()
    )
    return ". ".join(filter(None, (text, "; ".join(said))))


@cache
def spell(hint: Any) -> str:
    """Write the type as a user would, without the annotations of the library."""
    if hint in NAMED:
        return NAMED[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return spell(inside[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inside))}]"
    if origin in (Union, UnionType):
        return " | ".join(map(spell, _unions(hint)))
    return "None" if hint is type(None) else cast("str", hint.__name__)


def _unions(hint: Any) -> list[Any]:
    """Return the parts of a union; a named part stays whole."""
    parts = list(get_args(hint))
    for named in NAMED:
        inside = get_args(named)
        if get_origin(named) in (Union, UnionType) and set(inside) < set(parts):
            return [named, *(part for part in parts if part not in inside)]
    return parts
