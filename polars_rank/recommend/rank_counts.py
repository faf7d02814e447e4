"""Count ranks among sampled negatives: what a log adds, as a state of few numbers.

A row is that of a segment, a measure and a group of users, with three columns of lists:
numbers of ``negatives``, numbers ``above`` the relevant item, and the ``counts`` of
users that have these. ``sampled`` counts all negatives. Those drawn by popularity are
counted as ``thinned``, too, each kept with the probability of the rarest item divided
by its own: what is kept was drawn as if all items had that probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.checks.enforce import enforce
from polars_rank._engine.schema import require_columns
from polars_rank._engine.spill.bounded import bounded
from polars_rank.core.exact.stable_hash import key_text, stable_hash
from polars_rank.core.exact.state import (
    DEFINITION,
    DIGESTS,
    PLACE,
    State,
    Type,
    damaged,
    defined,
    digest,
    hashed,
)
from polars_rank.core.rules import Rule
from polars_rank.core.source import is_rereadable, lazy_source, require_rereadable
from polars_rank.recommend.split_log import not_null

Ties: TypeAlias = Literal["pessimistic", "optimistic"]
TIES = ("pessimistic", "optimistic")
Check: TypeAlias = Literal["strict", "full"]
CHECKS = ("strict", "full")
GROUPS = 20  # of users, each left out in turn
THINNINGS = 8  # of each list, whose counts are an eighth each
MEMORY = 1_000_000_000  # bytes: draws with probabilities go into buckets on disk
FACTOR = 5  # bytes that numbering draws takes for each byte of them
SAMPLED, THINNED = "sampled", "thinned"
LISTS = ("negatives", "above", "counts")
TYPES: dict[str, Type] = {
    "measure": "text",
    "group": "hash",
    **dict.fromkeys(LISTS, "any"),
}
CELL = ("measure", "group", "negatives", "above")
COLUMNS = (*TYPES, DEFINITION, DIGESTS)
# Polars would hold all rows between the two that need them: relevant items, and all.
APART = pl.QueryOptFlags(comm_subplan_elim=False)
CONTENT = "polars_rank.content"  # a number of the lists that were counted

NO_RELEVANT = Rule(
    "no_relevant_item",
    "negatives without a relevant item of label above 0; drop these users, or add it",
)
SEVERAL = Rule(
    "several_relevant_items",
    "several relevant items; give each a list of its own, with an id of user and item "
    "in user= and the user in cluster=",
)
NO_NEGATIVES = Rule(
    "no_negatives", "relevant items without negatives; draw some, or drop these users"
)
RELEVANT_NEGATIVE = Rule(
    "relevant_negative",
    "negatives that are the relevant item itself; leave it out of the draw",
)
REPEATED = Rule(
    "repeated_negative",
    "negatives that are there twice; draw distinct ones, or say replacement=True",
)
TOO_MANY = Rule(
    "too_many_negatives",
    "more negatives than other items; give the size of the catalog in n_items=, or "
    "say replacement=True",
)
NAN = Rule("nan", "NaN in label or score; drop these rows, or mend them")
IMPROBABLE = Rule(
    "improbable_negative",
    "probabilities that are null, below min_probability or above 1; give that of the "
    "item in one draw, and that of the rarest item of the catalog",
)
RULES = {
    "nan": NAN,
    "without": NO_RELEVANT,
    "several": SEVERAL,
    "alone": NO_NEGATIVES,
    "same": RELEVANT_NEGATIVE,
    "repeated": REPEATED,
    "many": TOO_MANY,
    "improbable": IMPROBABLE,
}


class Design(NamedTuple):
    """How the negatives were drawn, and what else decides the counts."""

    n_items: int
    replacement: bool
    min_probability: float | None
    ties: Ties
    seed: int

    @property
    def definition(self) -> str:
        """All that can change a count, as text."""
        chosen = self._asdict() if self.min_probability is not None else {}
        chosen = chosen or {n: v for n, v in self._asdict().items() if n != "seed"}
        return defined("sampled", {"groups": GROUPS, "thinnings": THINNINGS, **chosen})


class Roles(NamedTuple):
    """The columns of the log; None: there is no such column."""

    by: tuple[str, ...]
    user: str
    cluster: str | None
    item: str | None
    label: str
    score: str
    probability: str | None

    def bound(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Select the columns by role, as ``b0``, ``b1`` ... ``user`` ... ``score``."""
        schema, columns = log.collect_schema(), []
        given = {n: c for n, c in self._asdict().items() if n != "by" and c is not None}
        for role, name in [*(("by", name) for name in self.by), *given.items()]:
            require_columns([name], schema, where="the log", argument=role)
        for role in ("label", "score", "probability"):
            _require_number(given.get(role), schema, role)
        for role, name in given.items():
            free = role == "probability"  # that of the relevant item is not used
            columns.append((pl.col(name) if free else not_null(name)).alias(role))
        segments = [pl.col(name).alias(f"b{i}") for i, name in enumerate(self.by)]
        return log.select(*segments, *columns)

    @property
    def keys(self) -> list[str]:
        """The columns of ``bound`` that tell lists apart."""
        cluster = [] if self.cluster is None else ["cluster"]
        return [*self.segments, *cluster, "user"]

    @property
    def segments(self) -> list[str]:
        """The columns of ``bound`` that tell segments apart."""
        return [f"b{i}" for i in range(len(self.by))]


def _require_number(name: str | None, schema: pl.Schema, role: str) -> None:
    if name is None or schema[name].is_numeric():
        return
    if role == "label" and schema[name] == pl.Boolean:
        return
    msg = f"{role} column {name!r} is {schema[name]}; it must be a number: cast it"
    raise TypeError(msg)


def rank_counts(
    log: pl.LazyFrame, roles: Roles, design: Design, *, check: Check, part: str | None
) -> pl.LazyFrame:
    """Return the state of a log, whose rows are read twice, not held."""
    rows = roles.bound(log).with_columns(
        label=pl.col("label").cast(pl.Float64),
        relevant=pl.col("label").cast(pl.Float64) > 0,
    )
    counted = _counted(rows, roles, design, check)
    if roles.probability is not None:  # draws are numbered, which holds them
        counted = bounded(
            [rows],
            roles.keys,
            lambda parts: _counted(parts[0], roles, design, check),
            limit=MEMORY,
            temp_dir=None,
            progress=None,
            fingerprint="",
            factor=FACTOR,
        )
    state = _packed(counted, roles, design, part)

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        require_rereadable(log)
        yield state.collect(engine="streaming", optimizations=APART)

    return lazy_source(
        read,
        state.collect_schema(),
        name="counts of ranks",
        rereadable=is_rereadable(log),
    )


def _counted(
    rows: pl.LazyFrame, roles: Roles, design: Design, check: Check
) -> pl.LazyFrame:
    """Count the lists of each group and rank: one group-by of users, one of ranks."""
    lists = _lists(rows, roles, design, check)
    keys = [key_text(n, rows.collect_schema()[n]) for n in _unit(roles)]
    kinds = [SAMPLED] if roles.probability is None else [SAMPLED, *_thinnings()]
    return (
        lists.with_columns(
            content=hashed([*roles.keys, "negatives", *kinds]),
            group=stable_hash(keys) % GROUPS,
            measure=pl.lit([SAMPLED] + [THINNED] * (len(kinds) - 1)),
            above=pl.concat_list(kinds),
        )
        .select(*roles.segments, *CELL, pl.col("content").alias(CONTENT))
        .explode("measure", "above", empty_as_null=False)
        .group_by(*roles.segments, *CELL)
        .agg(pl.len().cast(pl.Int64).alias("counts"), pl.col(CONTENT).sum())
    )


def _packed(
    counted: pl.LazyFrame, roles: Roles, design: Design, part: str | None
) -> pl.LazyFrame:
    """Make a row per segment, measure and group of the counts of all buckets."""
    segments, keys = roles.segments, [*roles.segments, "measure", "group"]
    state = (
        counted.group_by(*segments, *CELL)
        .agg(pl.col("counts", CONTENT).sum())
        .sort(*segments, *CELL, nulls_last=True)
        .group_by(keys, maintain_order=True)
        .agg(*LISTS, pl.col(CONTENT).sum())
        .with_columns(
            pl.lit(design.definition).alias(DEFINITION), digest(keys, CONTENT, part)
        )
    )
    named = [pl.col(f"b{i}").alias(name) for i, name in enumerate(roles.by)]
    return state.select(*named, *COLUMNS)


def _unit(roles: Roles) -> list[str]:
    return ["user" if roles.cluster is None else "cluster"]


def _thinnings() -> list[str]:
    return [f"t{i}" for i in range(THINNINGS)]


def _lists(
    rows: pl.LazyFrame, roles: Roles, design: Design, check: Check
) -> pl.LazyFrame:
    """Make a row per list, which passes if it breaks no rule."""
    keys = roles.keys
    own = rows.filter("relevant").group_by(keys)
    found = own.agg(
        pl.col("score").max().alias("own"),
        *([] if roles.item is None else [pl.col("item").first().alias("own_item")]),
    )
    if roles.probability is not None:
        rows = _draws(rows, roles, design)
    joined = rows.join(found, on=keys, how="left", nulls_equal=True)
    negative, score = ~pl.col("relevant"), pl.col("score")
    pessimistic = design.ties == "pessimistic"
    above = negative & (
        score >= pl.col("own") if pessimistic else score > pl.col("own")
    )
    counts = {SAMPLED: above.sum(), "negatives": negative.sum()}
    counts |= {"relevant": pl.col("relevant").sum(), **_faults(rows, roles, design)}
    if roles.probability is not None:
        counts |= {n: (above & pl.col(n)).sum() for n in _thinnings()}
    distinct = check == "full" and not design.replacement
    if distinct:
        counts["distinct"] = pl.col("item").n_unique()
    sums = {n: e.cast(pl.Int64) for n, e in counts.items()}
    rules = _broken(design, distinct=distinct)
    lists = joined.group_by(keys).agg(**sums).with_columns(**rules)
    return enforce(
        lists,
        {name: RULES[name] for name in RULES if name in {*counts, *rules}},
        example="user",
        check="strict",
        exact_counts=False,
        unit="user",
    )


def _faults(rows: pl.LazyFrame, roles: Roles, design: Design) -> dict[str, pl.Expr]:
    """Count the rows of a list that break a rule."""
    schema, negative = rows.collect_schema(), ~pl.col("relevant")
    floats = [pl.col(n).is_nan() for n in ("label", "score") if schema[n].is_float()]
    faults = {"nan": pl.any_horizontal(floats).sum()}
    if roles.item is not None:
        same = pl.col("item") == pl.col("own_item")
        faults["same"] = (negative & same).sum()
    if roles.probability is not None:
        within = pl.col("probability").is_between(pl.lit(design.min_probability), 1)
        faults["improbable"] = (negative & ~within.fill_null(value=False)).sum()
    return faults


def _broken(design: Design, *, distinct: bool) -> dict[str, pl.Expr]:
    """Tell from the counts of a list whether it breaks a rule: 0 or 1."""
    relevant, negatives = pl.col("relevant"), pl.col("negatives")
    broken = {"without": relevant == 0, "several": relevant > 1, "alone": negatives < 1}
    if not design.replacement:
        broken["many"] = negatives > design.n_items - 1
    if distinct:
        broken["repeated"] = pl.col("distinct") < negatives + relevant
    return {name: wrong.cast(pl.Int64) for name, wrong in broken.items()}


def _draws(rows: pl.LazyFrame, roles: Roles, design: Design) -> pl.LazyFrame:
    """Say of each draw in which thinnings it is kept.

    Draws of one item of a list are numbered, so that each has a number of its own
    between 0 and 1, whatever the order of the rows; thinnings shift it by equal steps.
    """
    number = "number"
    schema = rows.collect_schema()
    each = rows.group_by(schema.names()).agg(pl.len().alias(number))
    each = each.with_columns(pl.int_ranges(number).alias(number))
    each = each.explode(number, empty_as_null=False)
    texts = [key_text(name, schema[name]) for name in (*roles.segments, "user", "item")]
    known = [text.fill_null("") for text in texts]
    unit = [pl.lit(str(design.seed)), *known, pl.col(number).cast(pl.String)]
    drawn = each.with_columns((stable_hash(unit) / 2.0**64).alias(number))
    kept = pl.lit(design.min_probability) / pl.col("probability")
    return drawn.with_columns(
        ((pl.col(number) + i / THINNINGS) % 1.0 < kept).alias(name)
        for i, name in enumerate(_thinnings())
    ).drop(number)


def require_possible(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse counts that no log has."""
    if whole.schema["above"].base_type() != pl.List:
        raise damaged(states[0].name, "its lists are lost: keep states in Parquet")
    cells = whole.select("measure", "group", *LISTS, PLACE)
    uneven = pl.col("negatives").list.len() != pl.col("counts").list.len()
    uneven |= pl.col("above").list.len() != pl.col("counts").list.len()
    wrong = cells.filter(uneven.fill_null(value=True))
    if wrong.is_empty():
        long = cells.explode(*LISTS)
        right = pl.col("above").is_between(0, pl.col("negatives"))
        right &= (pl.col("counts") > 0) & (pl.col("group") < GROUPS)
        right &= pl.col("measure").is_in([SAMPLED, THINNED])
        wrong = long.filter(~right.fill_null(value=False))
    for place in wrong[PLACE].head(1):
        raise damaged(states[place].name, "has counts that no log has; make it anew")
