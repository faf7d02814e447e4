"""One word has one meaning: every public parameter and result column stands once."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

import polars as pl
import pytest

import polars_rank as pr
from polars_rank import (
    analysis,
    clicks,
    comparison,
    example,
    fusion,
    io,
    parts,
    recommend,
    report,
)
from polars_rank.cli.derive import cli_type, parameters_of
from polars_rank.clicks.behavior.measures import DEFAULT as BEHAVIOR
from polars_rank.core.vocabulary import COLUMNS, PARAMETERS
from polars_rank.metrics import METRICS

MODULES = (pr, analysis, comparison, clicks, fusion, parts, io, recommend, report)
VALUES = pr.per_query(
    pl.scan_parquet(example.systems_path()), ["rr", "ap"], query=["system", "query_id"]
).collect()
ROWS = pl.read_parquet(example.systems_path())
LOG = pl.scan_parquet(example.clicks_path())


OF_FORMULAS = ("ratio", "metric_expr", "expr", "clean_on_signals")


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All public functions, but those that make formulas."""
    for module in MODULES:
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and name not in OF_FORMULAS:
                yield f"{module.__name__}.{name}", function


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_a_word(name):
    known = {p.name for p in keywords(FUNCTIONS[name])}
    missing = sorted(known - PARAMETERS.keys())
    assert not missing, f"name them in PARAMETERS of core/vocabulary.py: {missing}"


def test_a_parameter_is_a_number_text_or_a_frame_everywhere():
    """A seed that is a column here and a number there has two meanings."""
    found = defaultdict(lambda: defaultdict(list))
    for name, function in FUNCTIONS.items():
        for p in keywords(function):
            if PARAMETERS[p.name].kind in ("column", "choice", "resource"):
                found[p.name][what(p.annotation)].append(name)
    two = {name: dict(kinds) for name, kinds in found.items() if len(kinds) > 1}
    assert not two


def keywords(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return parameters_of(function)
    except NameError:  # types that only a type checker imports
        _, *others = inspect.signature(function).parameters.values()
        return others


def what(hint: Any) -> str:
    kind = cli_type(hint)
    inner = {*get_args(kind), kind} if get_origin(kind) is not Literal else {str}
    if bool in inner:
        return "switch"
    return "number" if {int, float} & inner else "text"


def test_no_word_is_left_over():
    used = {p.name for function in FUNCTIONS.values() for p in keywords(function)}
    left = sorted(PARAMETERS.keys() - used - {"n_impressions"})  # comes first
    assert not left, f"no public function has these parameters: {left}"


@cache
def results() -> list[tuple[str, pl.DataFrame]]:
    return [*calls()]


def calls() -> Iterator[tuple[str, pl.DataFrame]]:
    """One small call of each function that returns a frame of named columns."""
    compared = pr.compare(VALUES, baseline="bm25", order="given")
    yield "compare.means", compared.means
    yield "compare.pairs", compared.pairs
    yield "anova", pr.compare(VALUES).anova
    yield "friedman", pr.compare(VALUES).friedman()
    yield "letters", pr.compare(VALUES).letters()
    moments = comparison.moments(VALUES)
    yield "moments", moments
    yield "trend", comparison.trend(moments.with_columns(day=pl.lit(1)), time="day")
    old, new = (
        VALUES.filter(pl.col("system") == name).drop("system")
        for name in ("bm25", "dense")
    )
    gate = pr.gate(new, baseline=old)
    yield "gate.checks", gate.checks
    yield "gate.worst", gate.worst
    yield "power", comparison.power(VALUES)
    yield "orders", comparison.orders(VALUES)
    yield "discriminative", comparison.discriminative(VALUES, test="t")
    yield "stability", comparison.stability(VALUES)
    audit = pr.audit(ROWS, "rr", system="system", bounds=True)
    for name in ("choices", "values", "bounds", "differences"):
        yield f"audit.{name}", getattr(audit, name)
    yield "bounds", pr.bounds(ROWS, "rr", system="system")
    run, qrels = ROWS.drop("label"), ROWS.select("query_id", "doc_id", "label").unique()
    one = run.filter(pl.col("system") == "bm25").drop("system")
    runs = {"a": one, "b": one}
    yield "fuse", fusion.fuse(runs)
    tuned = fusion.tune(runs, "rr", qrels=qrels, steps=2)
    for name in ("candidates", "folds", "values"):
        yield f"tune.{name}", getattr(tuned, name)
    yield "match_report", pr.match_report(one, qrels=qrels)
    yield "contributions", analysis.contributions(one, "rr", qrels=qrels)
    two = run.filter(pl.col("system") == "dense").drop("system")
    changed = analysis.changes(one, two, qrels=qrels)
    for name in ("summary", "queries", "documents"):
        yield f"changes.{name}", getattr(changed, name)
    lands = qrels.select("query_id", land=pl.lit("x")).unique()
    why = analysis.reasons(
        one, two, "rr", qrels=qrels, qrels_before=qrels, segments=lands, by="land"
    )
    for name in ("summary", "segments", "queries", "documents"):
        yield f"reasons.{name}", getattr(why, name)
    few = qrels.filter(pl.col("doc_id") == qrels["doc_id"].min())
    yield "to_judge", analysis.to_judge({"one": one, "two": two}, "dcg", qrels=few)
    log = pl.DataFrame({"user_id": [1, 1], "item_id": [5, 6], "time": [1, 2]})
    found = recommend.check_split(*recommend.split(log, "last"))
    yield "check_split", found.findings
    lists = one.with_columns(label=pl.int_range(pl.len()).over("query_id") == 0)
    asked = {"n_items": 50, "user": "query_id", "replacement": True}
    yield "sampled_state", recommend.sampled_state(lists, **asked)
    yield "sampled", recommend.sampled(lists, "ndcg@10", **asked)
    halves = why.queries.with_columns(land=pl.int_range(pl.len()) % 2)
    yield "slices", analysis.slices(halves, "land", min_queries=2, level=0.01)
    yield (
        "estimate",
        pr.estimate(
            one, "rr", qrels=qrels.filter(pl.col("query_id") < "q6"), model_qrels=qrels
        ),
    )
    users = {"cluster": "user_id"}
    for name, frame in {
        "behavior": clicks.behavior(LOG, BEHAVIOR, interval="normal", **users),
        "click_entropy": clicks.click_entropy(LOG),
        "compare_arms": clicks.compare_arms(LOG, "ctr", arm="arm", control="A"),
        "counterfactual": clicks.counterfactual(
            LOG, "dcg@10", new=["new_score", "score"], propensities=1.0, **users
        ),
        "sensitivity": clicks.sensitivity(LOG, "dcg@10", new=["new_score", "score"]),
        "judgments": clicks.judgments(LOG, propensities=1.0),
        "propensities": clicks.propensities(LOG, **users),
        "interleaving": clicks.interleaving(
            LOG.filter(pl.col("team").is_not_null()), team="team", **users
        ),
        "team_shares": clicks.team_shares(
            LOG.filter(pl.col("team").is_not_null()), team="team"
        ),
    }.items():
        yield name, frame.collect()
    report = clicks.report(LOG)
    for name in ("facts", "positions", "faults", "methods"):
        yield f"report.{name}", getattr(report, name)


OF_USERS = {"system", "query_id", "doc_id", "day", "land", *METRICS, *BEHAVIOR}


@pytest.mark.filterwarnings("ignore")
def test_every_column_of_a_result_is_a_word():
    wrong = []
    for name, frame in results():
        for column, dtype in frame.schema.items():
            if column in OF_USERS:
                continue
            if column not in COLUMNS:
                wrong.append(f"{name}: {column} is not in COLUMNS of vocabulary.py")
            elif COLUMNS[column].dtype != "label" and (
                str(dtype) not in COLUMNS[column].dtype.split(" or ")
            ):
                wrong.append(f"{name}: {column} is {dtype}, {COLUMNS[column].dtype}")
    assert not wrong, "\n".join(wrong)
