"""Which rule decides the value of a query: every path against a plain loop.

A query is in the run or not; its judgments are none, null only, not relevant, relevant;
it is listed in ``queries=`` or not. The rules apply in the order of
``docs/conventions.md``: ``queries=``, ``missing``, ``no_relevant``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations, permutations, product

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank._engine import finish, layout
from polars_rank._engine.spill import budget

TREC = pr.CONVENTIONS["trec_eval"]
RAN = ("a", "b")  # in rank order; only b is ever judged to be relevant
JUDGED = {
    "none": {},
    "null": {"a": None, "b": None},
    "nothing": {"b": 0},
    "relevant": {"b": 1},
}
STATES = [*product((True, False), JUDGED, (True, False))]  # in the run, judged, listed
QUERIES = dict(enumerate(STATES))
NOWHERE = 99  # listed, and neither in the run nor judged
MISSING = ("zero", "skip", "error")
NO_RELEVANT = ("zero", "one", "one_unweighted", "skip", "null", "error")
FILLED = {"zero": 0.0, "one": 1.0, "one_unweighted": 1.0}
REFUSED = "refused"


def run() -> pl.DataFrame:
    rows = [
        (query, doc, 2.0 - place)
        for query, (ran, _, _) in QUERIES.items()
        for place, doc in enumerate(RAN)
        if ran
    ]
    return pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")


def qrels() -> pl.DataFrame:
    rows = [
        (query, doc, label)
        for query, (_, judged, _) in QUERIES.items()
        for doc, label in JUDGED[judged].items()
    ]
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "label": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


def listed() -> pl.DataFrame:
    chosen = [query for query, (_, _, asked) in QUERIES.items() if asked]
    return pl.DataFrame({"query_id": [*chosen, NOWHERE]})


def frames(*, apart: bool, asked: bool) -> dict[str, pl.DataFrame]:
    given = {"frame": run()}
    if apart:
        given["qrels"] = qrels()
    else:
        given["frame"] = run().join(qrels(), on=["query_id", "doc_id"], how="left")
    return given | ({"queries": listed()} if asked else {})


def wanted(
    *, apart: bool, asked: bool, missing: str, no_relevant: str, unjudged: str
) -> dict[int, float | None] | str:
    """The values of the queries, by a plain loop; or that the data are refused."""
    values: dict[int, float | None] = {}
    queries = dict(QUERIES)
    if asked:
        queries[NOWHERE] = (False, "none", True)
    for query, (ran, judged, in_list) in queries.items():
        if asked:
            counts = in_list
        elif apart:
            counts = judged != "none"
        else:
            counts = ran
        if not counts:
            continue
        if not ran:
            if missing == "error":
                return REFUSED
            if missing == "zero":
                values[query] = 0.0
            continue
        if judged != "relevant":
            if no_relevant == "error":
                return REFUSED
            values[query] = FILLED.get(no_relevant)
            continue
        values[query] = 1.0 if unjudged == "drop" else 1 / 2  # a is not judged
    return values


def mean(values: dict[int, float | None], no_relevant: str) -> float | None:
    known = [value for value in values.values() if value is not None]
    if no_relevant == "null" and len(known) < len(values):
        return None
    return sum(known) / len(known)


def choices() -> Iterator[dict[str, str]]:
    names = ("missing", "no_relevant", "unjudged")
    for values in product(MISSING, NO_RELEVANT, ("nonrelevant", "drop")):
        yield dict(zip(names, values, strict=True))


def lazily(given: dict[str, pl.DataFrame]) -> dict[str, pl.LazyFrame]:
    return {side: frame.lazy() for side, frame in given.items()}


def in_parts(given: dict[str, pl.DataFrame], **options: object) -> pl.DataFrame:
    """Three parts, with the judgments and queries of the whole for each."""
    evaluation = pr.Evaluation("rr", **options)
    frame = given.pop("frame")
    thirds = [frame.filter(pl.col("query_id") % 3 == i) for i in range(3)]
    partials = [evaluation.partial(part, **given, broadcast=True) for part in thirds]
    return evaluation.merge(partials, **given)


def in_own_parts(given: dict[str, pl.DataFrame], **options: object) -> pl.DataFrame:
    """Three parts, each with its own judgments and queries."""
    evaluation = pr.Evaluation("rr", **options)
    partials = [
        evaluation.partial(
            **{s: f.filter(pl.col("query_id") % 3 == i) for s, f in given.items()}
        )
        for i in range(3)
    ]
    return evaluation.merge(partials)


PER_QUERY = {
    "in memory": {},
    "any": {"layout": "any"},
    "contiguous": {"layout": "contiguous"},
    "auto": {"layout": "auto"},
    "bounded": {"layout": "any", "memory_limit": "1GB"},
}
PATHS = [*PER_QUERY, "parts", "own parts"]


@pytest.mark.parametrize("third", [0, slow(1), slow(2)])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_rules_apply_in_one_order_on_every_path(path, apart, asked, third):
    """A path meets all choices in the quick tests, each with some of the frames."""
    for chosen in [*choices()][(third + apart + 2 * asked) % 3 :: 3]:
        if path.endswith("parts") and chosen["unjudged"] == "drop":
            continue
        known = wanted(apart=apart, asked=asked, **chosen)
        given = frames(apart=apart, asked=asked)
        options = {"convention": TREC.replace(**chosen)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pr.DataWarning)
            try:
                found = outcome(path, given, options)
            except pr.DataError:
                found = REFUSED, REFUSED
        values, average = found
        if known == REFUSED:
            assert average == REFUSED, chosen
            continue
        assert isinstance(known, dict)
        assert values in (None, known), chosen
        expected = mean(known, chosen["no_relevant"])
        if average is None or expected is None:
            assert average == expected, chosen
        else:
            assert average == (len(known), pytest.approx(expected)), chosen


def outcome(
    path: str, given: dict[str, pl.DataFrame], options: dict[str, object]
) -> tuple[object, object]:
    """Values per query, where the path has them, and the mean with its queries."""
    values = None
    if path in PER_QUERY:
        own = given if path == "in memory" else lazily(given)
        options |= PER_QUERY[path]
        rows = pr.per_query(measures="rr", **own, **options).lazy().collect()
        values = dict(rows.rows())
        means = pr.evaluate(measures="rr", **own, **options).lazy().collect()
    else:
        means = (in_parts if path == "parts" else in_own_parts)(given, **options)
    queries, average = means.row(0)
    return values, None if average is None else (queries, average)


@pytest.fixture
def few_bytes(monkeypatch):
    """A limit so small that few rows need several buckets."""
    small = budget.Budget(1024, 1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)


@pytest.mark.parametrize("no_relevant", ["one", "skip"])
def test_the_order_is_kept_in_buckets(no_relevant, few_bytes, recwarn):
    chosen = {"missing": "zero", "no_relevant": no_relevant, "unjudged": "nonrelevant"}
    given = lazily(frames(apart=True, asked=True))
    heard: list[pr.parts.Progress] = []
    options = {"convention": TREC.replace(**chosen), **PER_QUERY["bounded"]}
    options["progress"] = heard.append
    found = pr.per_query(measures="rr", **given, **options).collect()
    assert max(progress.total for progress in heard) > 1
    assert dict(found.rows()) == wanted(apart=True, asked=True, **chosen)


TYPES = {
    "text": (pl.String, pl.String, pl.String),
    "categorical": (pl.Categorical, pl.String, pl.String),
    "enum": (pl.Enum([*map(str, QUERIES)]), pl.String, pl.String),
    "narrow run": (pl.Int8, pl.Int64, pl.Int64),
    "narrow list": (pl.Int64, pl.Int64, pl.UInt8),
}


@pytest.mark.parametrize("layout", ["any", "contiguous"])
@pytest.mark.parametrize("name", TYPES)
def test_listed_queries_are_found_whatever_the_types_of_ids(name, layout):
    """One of them is no id that the run's type can hold."""
    chosen = {"missing": "zero", "no_relevant": "one", "unjudged": "nonrelevant"}
    known = wanted(apart=True, asked=True, **chosen)
    given = frames(apart=True, asked=True)
    if name == "narrow run":
        known[1000] = known.pop(NOWHERE)
        given["queries"] = given["queries"].with_columns(pl.all().replace(99, 1000))
    if TYPES[name][1] == pl.String:
        given = {s: f.cast({"query_id": pl.String}) for s, f in given.items()}
    typed = {
        side: frame.lazy().cast({"query_id": dtype})
        for (side, frame), dtype in zip(given.items(), TYPES[name], strict=True)
    }
    options = {"convention": TREC.replace(**chosen), "layout": layout}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pr.DataWarning)
        found = pr.per_query(measures="rr", **typed, **options).collect()
    assert {int(query): value for query, value in found.rows()} == known


def test_listed_queries_may_be_a_stream():
    chosen = {"missing": "zero", "no_relevant": "one", "unjudged": "nonrelevant"}
    given = frames(apart=True, asked=True)
    stream = given.pop("queries").to_arrow().to_reader()
    options = {"convention": TREC.replace(**chosen), "check": "off"}
    found = pr.per_query(measures="rr", **given, queries=stream, **options)
    assert dict(found.rows()) == wanted(apart=True, asked=True, **chosen)


@pytest.mark.parametrize("no_relevant", NO_RELEVANT)
def test_an_expression_values_each_group_as_a_listed_query(no_relevant):
    log = frames(apart=False, asked=False)["frame"]
    rr = pl.col("label").rank_eval.rr("score", no_relevant=no_relevant)
    if no_relevant == "error":
        with pytest.raises(pr.DataError, match="rr is undefined"):
            log.group_by("query_id").agg(rr)
        return
    known = wanted(
        apart=False,
        asked=False,
        missing="zero",
        no_relevant=no_relevant,
        unjudged="nonrelevant",
    )
    assert dict(log.group_by("query_id").agg(rr).rows()) == known


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("no_relevant", ["one", "skip", "error"])
@pytest.mark.parametrize("asked", [False, True])
def test_measures_of_subtopics_follow_the_same_rules(missing, no_relevant, asked):
    given = frames(apart=True, asked=asked)
    given["qrels"] = given["qrels"].with_columns(subtopic=pl.lit("s"))
    chosen = {"missing": missing, "no_relevant": no_relevant}
    known = wanted(apart=True, asked=asked, unjudged="nonrelevant", **chosen)
    options = {"convention": TREC.replace(**chosen), "subtopic": "subtopic"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pr.DataWarning)
        if known == REFUSED:
            with pytest.raises(pr.DataError, match="is undefined"):
                pr.per_query(measures="st_recall@2", **given, **options)
            return
        found = pr.per_query(measures="st_recall@2", **given, **options)
    rounded = {q: v if v is None else float(v > 0) for q, v in known.items()}
    assert dict(found.rows()) == rounded


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_queries_without_a_judgment_are_counted(apart, lazy):
    given = frames(apart=apart, asked=False)
    number = sum(ran and judged == "null" for ran, judged, _ in STATES)
    if not apart:  # nothing tells a query that nobody judged from one with nulls
        number += sum(ran and judged == "none" for ran, judged, _ in STATES)
    told = f'^{number} queries have no judgment.*no_relevant="zero"'
    own = lazily(given) if lazy else given
    for function in (pr.per_query, pr.evaluate):
        with pytest.warns(pr.DataWarning, match=told) as caught:
            function(measures="rr", missing="zero", **own).lazy().collect()
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            own_choice = {"missing": "zero", "no_relevant": "zero"}
            function(measures="rr", **own_choice, **own).lazy().collect()
    with pytest.warns(pr.DataWarning, match=told):
        in_own_parts(given, missing="zero")


ROWS = pl.DataFrame(
    [
        (f"q{i}", doc, float(i + place))
        for i in range(9)
        for place, doc in enumerate(RAN)
    ],
    ["query_id", "doc_id", "score"],
    orient="row",
)
BROKEN = {  # in the order in which they are told
    "null_query": ROWS[:1].with_columns(query_id=pl.lit(None, pl.String)),
    "null_score": ROWS[5:6].with_columns(doc_id=pl.lit("c"), score=pl.lit(None)),
    "nan_score": ROWS[-1:].with_columns(doc_id=pl.lit("d"), score=float("nan")),
    "null_doc": ROWS[2:3].with_columns(doc_id=pl.lit(None, pl.String)),
    "duplicate_doc": ROWS[8:9],
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("path", ["eager", *PER_QUERY])
@pytest.mark.parametrize("apart", [False, True])
def test_of_two_broken_rules_every_path_tells_the_same(path, apart, collect):
    """However the queries at fault are dealt into batches."""
    options = PER_QUERY.get(path, {})
    for first, second in combinations(BROKEN, 2):
        faulty = pl.concat(
            [ROWS, BROKEN[second], BROKEN[first]], how="vertical_relaxed"
        )
        judged = ROWS.with_columns(label=1).drop("score")
        given = {"frame": faulty, "qrels": judged}
        if not apart:
            given = {"frame": faulty.with_columns(label=1)}
        given = given if path == "eager" else lazily(given)
        with pytest.raises(pr.DataError) as told:
            collect(pr.per_query(measures="rr", **given, **options).lazy())
        contiguous = path == "contiguous" and told.value.rule == "not_contiguous"
        assert contiguous or told.value.rule == first, (first, second)


@pytest.mark.parametrize("order", [*permutations(range(4))])
@pytest.mark.parametrize(("rule0", "told"), [(1, 3), (0, 1)])
def test_of_two_broken_rules_buckets_tell_the_same(order, rule0, told, monkeypatch):
    """Each row is a batch: only those that break the first rule are passed on."""
    counts = {"rule0": [0, 0, 0, rule0], "rule1": [0, 1, 0, 0], "rule2": [0, 0, 1, 1]}
    rows = pl.DataFrame({"query": range(4), **counts})[list(order)]
    batches = rows.iter_slices(1)
    monkeypatch.setattr(layout, "in_batches", lambda frame: batches)
    found = layout.first_rule_first(rows.lazy(), [*counts]).collect()
    at_fault = found.filter(pl.any_horizontal(pl.col(*counts) > 0))
    assert at_fault["query"].to_list() == [told]


@pytest.mark.parametrize("limit", [None, "1GB"])
def test_rules_are_put_in_order_within_a_limit(limit, monkeypatch):
    seen = []
    monkeypatch.setattr(
        finish, "first_rule_first", lambda f, rules: seen.append(f) or f
    )
    log = ROWS.lazy().with_columns(label=1)
    pr.per_query(log, "rr", memory_limit=limit, layout="any").collect()
    assert bool(seen) == bool(limit)
