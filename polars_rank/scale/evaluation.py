"""An evaluation as a value: for data in parts, on any engine."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Literal

import polars as pl

import polars_rank
from polars_rank._engine.checks.doubts import warn_of_missing, warn_of_scale
from polars_rank._engine.checks.enforce import Check, raise_or_warn, report
from polars_rank._engine.plan import plan_result
from polars_rank._engine.request import AnyFrame, Request, stats_of
from polars_rank._engine.result import Aggregation
from polars_rank._engine.schema import (
    Column,
    columns_of,
    has_column,
    names_of,
    renamed,
    roots_of,
)
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import convention_of
from polars_rank.core.registry import closest
from polars_rank.core.rules import NO_COMMON_QUERY, Rule
from polars_rank.evaluation.evaluate import evaluate, per_query
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import Custom, Measures, parse_measures
from polars_rank.scale.partial import add_partials, as_partial, finish_partial

__all__ = ["Evaluation"]

FRAMES = ("frame", "measures", "qrels", "queries", "segments")
OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(evaluate).parameters.items()
    if name not in FRAMES
}
QUERY_IN_TWO_PARTS = Rule(
    "query_in_two_parts",
    "queries whose rows are in more than one part of the data; partition by query, or "
    "cut contiguous rows with polars_rank.scale.cut",
)


class Evaluation:
    """Measures and options without data: :func:`evaluate` for data in parts.

    A small value that pickles. ``partial`` computes what one part of the data adds to
    the means, in any process, on any machine, on any day. ``merge`` computes the means
    from the partials of all parts, with the same bits as :func:`evaluate` on the whole.

    Every part must hold whole queries, each query in one part only. Errors and warnings
    about data are counted in the partials; ``merge`` raises each once, with the total.

    Parameters
    ----------
    measures, options
        As in :func:`evaluate`, without its frames: columns by name or expression.
        Functions (user-defined measures, gains) pickle only if they are importable.

    Raises
    ------
    TypeError
        For options that :func:`evaluate` does not know, and for expressions that do not
        pickle, since they call a Python function.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
    ... )
    >>> evaluation = pr.Evaluation(["rr", "precision@1"])
    >>> monday = evaluation.partial(log.filter(pl.col("query_id") == 1))
    >>> tuesday = evaluation.partial(log.filter(pl.col("query_id") == 2))
    >>> evaluation.merge([monday, tuesday]).equals(
    ...     pr.evaluate(log, ["rr", "precision@1"])
    ... )
    True
    """

    def __init__(self, measures: Measures, **options: Any) -> None:
        for name, value in options.items():
            if name not in OPTIONS:
                hint = closest(name, list(OPTIONS))
                if name in FRAMES:
                    hint = ": give it to partial, with the rows of that part"
                msg = f"an Evaluation takes no {name}{hint}"
                raise TypeError(msg)
            _spelled_columns(name, value)
        self._measures = parse_measures(measures)
        self._given = [
            {m.name: m.function} if isinstance(m, Custom) else m for m in self._measures
        ]
        self._options = OPTIONS | options
        self._aggregation = Aggregation.of(
            self._measures,
            by=names_of(columns_of(self._options["by"])),
            weighted=self._options["weight"] is not None,
            convention=self._convention,
            check=self._options["check"],
            stats=stats_of(self._options["stats"]),
        )

    def __repr__(self) -> str:
        """The call that makes it."""
        shown = {name: _shown(value) for name, value in self._options.items()}
        changed = (
            f", {name}={text}"
            for name, text in shown.items()
            if text != _shown(OPTIONS[name])
        )
        return f"Evaluation({[m.name for m in self._measures]}{''.join(changed)})"

    @property
    def has_functions(self) -> bool:
        """Whether a measure is a function of the user, which nobody can compare."""
        return any(isinstance(m, Custom) for m in self._measures)

    @property
    def _convention(self) -> Convention:
        choices = {name: self._options[name] for name in SHORTCUTS}
        return convention_of(self._options["convention"], **choices)

    @property
    def options(self) -> dict[str, Any]:
        """All options, defaults included."""
        return dict(self._options)

    @property
    def definition(self) -> str:
        """Sixteen hexadecimal digits of everything that decides the means.

        Expressions count as Polars serialises them, which may change with its version.
        """
        names = ["by", "weight", "stats", "max_rank", "on_duplicate", "subtopic"]
        names += ["descending"]
        measures = [
            (m.name, _spelled(m.function) if isinstance(m, Custom) else str(m))
            for m in self._measures
        ]
        choices = vars(self._convention)
        choices = {n: _spelled(v) for n, v in choices.items() if n != "name"}
        options = [
            (name, _spelled_columns(name, value))
            for name, value in self._options.items()
            if name in names or _has_expression(value)
        ]
        text = repr((measures, choices, options))
        return sha256(text.encode()).hexdigest()[:16]

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Columns read from each frame, so that an engine need not move others.

        ``"log"`` is a frame with labels, ``"run"`` one that is evaluated with
        ``"qrels"``. A document id that the options do not name is optional in a log;
        segments and weights may be in ``queries=`` instead.
        """
        options = self._options
        ranked = options["score"] if options["rank"] is None else options["rank"]
        log = (options["doc"], ranked, options["label"], options["weight"])
        run = (options["doc"], ranked, options["weight"])
        judged = (self._qrels_doc, options["label"], options["subtopic"])
        by = columns_of(options["by"])
        read = {
            "log": (*self.query, *log, *by),
            "run": (*self.query, *run, *by),
            "qrels": (*self._qrels_query, *judged),
        }
        return {
            side: tuple(
                dict.fromkeys(n for c in given if c is not None for n in roots_of(c))
            )
            for side, given in read.items()
        }

    def partial(
        self,
        frame: AnyFrame,
        *,
        qrels: AnyFrame | None = None,
        queries: AnyFrame | None = None,
        segments: AnyFrame | None = None,
        broadcast: bool = False,
        keys: bool = False,
    ) -> pl.DataFrame:
        """Return what a part of the data adds to the means.

        Parameters
        ----------
        frame, qrels, queries
            As in :func:`evaluate`: the rows of whole queries, with the judgments of
            these queries.
        segments
            As in :func:`evaluate`; it may cover the whole data.
        broadcast
            Whether ``qrels`` and ``queries`` cover the whole data. Queries that no part
            has are then added by ``merge``, which needs the same two frames.
        keys
            Whether to list the queries: then ``merge`` refuses a query that is in two
            parts. Implied by ``broadcast``.

        Returns
        -------
        A long frame of a few kB: ``by0`` ..., ``measure`` and the state of its mean; in
        rows without a measure the number of queries and the rules that are broken;
        ``definition`` and ``version``.
        """
        if broadcast:
            here = (
                frame.lazy()
                .select(renamed(c, f"key{i}") for i, c in enumerate(self.query))
                .unique()
            )
            qrels = self._joined(qrels, self._qrels_query, here, "semi")
            queries = self._joined(queries, self.query, here, "semi")
        frames = {"qrels": qrels, "queries": queries, "segments": segments}
        return self._partial(frame, keys=keys or broadcast, **frames, **self._options)

    def _partial(
        self, frame: AnyFrame, *, keys: bool, **arguments: Any
    ) -> pl.DataFrame:
        request = self._request(frame, result="sums", **arguments)
        in_memory = request.grouping == "hash"
        plan = plan_result(request)
        if not keys:
            plan = plan.drop("keys")
        sums = plan.collect(engine="in-memory" if in_memory else "streaming")
        return as_partial(self._aggregation, sums, self._stamp)

    def add(self, partials: pl.DataFrame | Iterable[pl.DataFrame]) -> pl.DataFrame:
        """Return the partial of several parts together, added in any order or grouping.

        Raises
        ------
        ValueError
            For partials of another evaluation or another version of the package.
        """
        several = [partials] if isinstance(partials, pl.DataFrame) else [*partials]
        if not several:
            msg = "no partials given; merge takes those of at least one part"
            raise ValueError(msg)
        parts = pl.concat(several, how="diagonal_relaxed")
        for name, own in self._stamp.items():
            others = parts.filter(pl.col(name) != own)[name].unique().to_list()
            if others:
                msg = (
                    f"partials of {name} {', '.join(map(repr, others))} do not add to "
                    f"those of {own!r}: compute them with the same measures, options "
                    "and version"
                )
                raise ValueError(msg)
        return add_partials(self._aggregation, parts, self._stamp)

    def merge(
        self,
        partials: pl.DataFrame | Iterable[pl.DataFrame],
        *,
        qrels: AnyFrame | None = None,
        queries: AnyFrame | None = None,
    ) -> pl.DataFrame:
        """Return the means of the whole, as :func:`evaluate` does.

        ``qrels`` and ``queries`` are those that were broadcast: their queries that no
        part has are evaluated here, as missing from the run.

        Raises
        ------
        DataError
            For rows of any part that break a rule, and for queries in two parts.
        """
        total = self.add(partials)
        if qrels is not None or queries is not None:
            rest = self._missing(total, qrels=qrels, queries=queries)
            total = total if rest is None else self.add([total, rest])
        self._enforce(total)
        return finish_partial(self._aggregation, total)

    def per_query(
        self,
        frame: AnyFrame,
        *,
        qrels: AnyFrame | None = None,
        queries: AnyFrame | None = None,
        segments: AnyFrame | None = None,
        keep: str | Sequence[str] | None = None,
    ) -> pl.LazyFrame:
        """Return the values of every query of a part, as :func:`per_query` does.

        Rows that break a rule raise a ``DataError`` with the counts of this part, when
        the result is collected. Nobody is warned of what is true of the whole only,
        such as judged queries that are missing from the run.
        """
        known = inspect.signature(per_query).parameters
        request = self._request(
            frame.lazy(),
            qrels=qrels,
            queries=queries,
            segments=segments,
            keep=keep,
            result="values",
            **{n: v for n, v in self._options.items() if n in known},
        )
        return plan_result(request._replace(part=True))

    def _request(self, frame: AnyFrame, **arguments: Any) -> Request:
        return Request.of(frame, self._given, **arguments)

    @property
    def query(self) -> tuple[Column, ...]:
        """The query columns."""
        return columns_of(self._options["query"])

    @property
    def _qrels_query(self) -> tuple[Column, ...]:
        return columns_of(self._options["qrels_query"]) or self.query

    @property
    def _qrels_doc(self) -> Column | None:
        own: Column | None = self._options["qrels_doc"]
        return self._options["doc"] if own is None else own

    @staticmethod
    def _joined(
        frame: AnyFrame | None,
        query: Sequence[Column],
        keys: pl.LazyFrame,
        how: Literal["semi", "anti"],
    ) -> pl.LazyFrame | None:
        """Rows of judgments or queries whose query is among the keys, or is not."""
        if frame is None:
            return None
        schema = frame.lazy().collect_schema()
        on = {f"key{i}": c for i, c in enumerate(query) if has_column(c, schema)}
        beside = {f"polars_rank.{key}": column for key, column in on.items()}
        return (
            frame.lazy()
            .with_columns(renamed(column, name) for name, column in beside.items())
            .join(keys, left_on=[*beside], right_on=[*on], how=how, nulls_equal=True)
            .drop(beside)
        )

    @property
    def _stamp(self) -> dict[str, str]:
        return {"definition": self.definition, "version": polars_rank.__version__}

    def _missing(
        self,
        total: pl.DataFrame,
        *,
        qrels: AnyFrame | None,
        queries: AnyFrame | None,
    ) -> pl.DataFrame | None:
        """The partial of the queries that no part has: those of an empty run."""
        if "keys" not in total.columns:
            msg = "qrels and queries are for partials made with broadcast=True"
            raise ValueError(msg)
        seen = _keys_of(total)
        left = (
            self._joined(qrels, self._qrels_query, seen.lazy(), "anti"),
            self._joined(queries, self.query, seen.lazy(), "anti"),
        )
        judged, asked = (None if f is None else f.collect() for f in left)
        if not any(len(f) for f in (judged, asked) if f is not None):
            return None
        return self._partial_of_none(seen.schema, qrels=judged, queries=asked)

    def _partial_of_none(
        self,
        keys: pl.Schema,
        *,
        qrels: pl.DataFrame | None,
        queries: pl.DataFrame | None,
    ) -> pl.DataFrame:
        """The partial of a run without rows, under our names.

        Nobody knows the columns that the run has, nor what an expression would make of
        them; segments and weights are those that ``queries`` has.
        """
        options = self._options
        names = dict(zip(keys, self.query, strict=True))
        by: list[str] = []
        for i, column in enumerate(columns_of(options["by"])):
            same = [k for k, c in names.items() if _same_name(c, column)]
            by += same or [f"by{i}"]
        described = dict(zip(by, columns_of(options["by"]), strict=True))
        if options["weight"] is not None:
            described["weight"] = options["weight"]
        types: dict[str, Any] = dict(keys)
        types |= {n: pl.Null for n in described if n not in keys}
        types |= {"doc": pl.String, "score": pl.Float64, "rank": pl.Int64}
        if "weight" in described:
            types["weight"] = pl.Float64
        own: dict[str, Any] = {"query": list(keys), "by": by or None}
        own |= {n: n for n in ("doc", "rank", "weight") if options[n] is not None}
        own["score"] = "score"
        if qrels is None:
            own["label"], types["label"] = "label", pl.Int64
        elif self._qrels_doc is not None:
            own |= {"qrels_query": self._qrels_query, "qrels_doc": self._qrels_doc}
            types["doc"] = qrels.select(renamed(self._qrels_doc, "doc")).schema["doc"]
        if queries is not None:
            known = {
                own: renamed(column, own)
                for own, column in (names | described).items()
                if has_column(column, queries.schema)
            }
            queries = queries.select(**known)
        return self._partial(
            pl.DataFrame(schema=types),
            keys=False,
            qrels=qrels,
            queries=queries,
            segments=None,
            **(options | own),
        )

    def _enforce(self, total: pl.DataFrame) -> None:
        """Raise, or warn of, what the rows of all parts break."""
        check: Check = self._options["check"]
        if "keys" in total.columns:
            keys = _keys_of(total)
            twice = keys.filter(keys.is_duplicated()).unique()
            if len(twice):
                examples = twice.head(3).rows()
                shown = [e[0] if len(e) == 1 else e for e in examples]
                report(QUERY_IN_TWO_PARTS, len(twice), shown, exact=True, warns=False)
        heads = total.filter(pl.col("measure").is_null())
        if check != "off":
            highest = heads.select(pl.col("highest").max()).item()
            warn_of_scale(self._measures, self._convention, highest)
        if check != "off" and "found" in total.columns:
            judged, found = int(heads["judged"].sum()), int(heads["found"].sum())
            if judged > found and not self._options["missing"]:
                warn_of_missing(self._convention, judged - found, judged)
            if judged and not found:
                msg = (
                    "no judged query is in the run, in any part; check query= and the "
                    "spelling of the ids"
                )
                error = DataError(msg, rule=NO_COMMON_QUERY.name)
                raise_or_warn(error, warns=check == "warn")
        broken = (
            total.select(pl.col("violations").explode())
            .drop_nulls()
            .unnest("violations")
            .group_by("rule", "message", "always", maintain_order=True)
            .agg(pl.col("count").sum(), pl.col("example").drop_nulls().head(5))
        )
        for name, message, always, count, examples in broken.rows():
            if always or check != "off":
                warns = check == "warn" and not always
                rule = Rule(name, message, always=always)
                report(rule, count, examples, exact=True, warns=warns)


def _keys_of(total: pl.DataFrame) -> pl.DataFrame:
    return total.select(pl.col("keys").explode()).drop_nulls().unnest("keys")


def _spelled(value: object) -> str:
    """A choice as text that is the same in every process."""
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"{value.__module__}.{name}"
    return repr(value)


def _same_name(one: Column, other: Column) -> bool:
    return isinstance(one, str) and isinstance(other, str) and one == other


def _has_expression(value: object) -> bool:
    several = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(v, pl.Expr) for v in several)


def _shown(value: object) -> str:
    """An option as text; expressions without their address in memory."""
    if not _has_expression(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)


def _spelled_columns(name: str, value: object) -> object:
    """An option with bytes for expressions, the same in every process."""
    if isinstance(value, list | tuple) and _has_expression(value):
        return [_spelled_columns(name, v) for v in value]
    if not isinstance(value, pl.Expr):
        return value
    try:
        return value.meta.serialize()
    except Exception as error:  # whatever pickling a function raises
        msg = (
            f"{name}={value} cannot be pickled, for it calls a Python function, and an "
            "Evaluation travels: write it with expressions of Polars, or compute "
            f"{name} beforehand"
        )
        raise TypeError(msg) from error
