"""Partials that were kept: of one definition, each once, and whole."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest
from slow import slow
from test_evaluation_in_parts import bits, rows, split
from test_options_of_parts import CASES, UNSEEN, case

import polars_rank as pr
from polars_rank.core.exact import state
from polars_rank.core.metric.registry import METRICS
from polars_rank.parts.evaluation import OPTIONS

LOG = rows(24)
MEASURES = ["ndcg@10", "ap", "num_rel", "gm_ap", "dcg@3"]
EVALUATION = pr.Evaluation(MEASURES, by="country")


# -- the definition


@pytest.mark.parametrize("name", OPTIONS)
def test_whatever_can_change_a_value_is_in_the_definition(name, tmp_path):
    """A new option is in it, unless it is said to decide nothing."""
    _, options, measures = case(name, tmp_path)
    plain = {n: v for n, v in options.items() if n != name}
    one, other = (pr.Evaluation(measures, **o) for o in (plain, options))
    assert (one.definition == other.definition) == (name in UNSEEN)
    assert [*CASES] == [*OPTIONS]


def test_scores_of_two_systems_do_not_add_up():
    log = LOG.with_columns(bm25="score", dense=-pl.col("score"))
    bm25, dense = (pr.Evaluation("rr", score=name) for name in ("bm25", "dense"))
    with pytest.raises(pr.DataError) as told:
        bm25.merge([bm25.partial(log), dense.partial(log)])
    assert "score is 'dense' there and 'bm25' here" in str(told.value)
    assert told.value.rule == "different_definition"


def test_unchecked_rows_do_not_go_into_a_strict_mean():
    nan = LOG.with_columns(score=float("nan"))
    unchecked = pr.Evaluation("rr", check="off").partial(nan)
    with pytest.raises(pr.DataError, match="check is 'off' there and 'strict' here"):
        pr.Evaluation("rr").merge(unchecked)


def test_functions_of_one_name_are_two_definitions():
    """Lambdas are all called alike."""
    pairs = (
        [pr.Evaluation({"hits": lambda r, n=n: r.hits_at(n)}) for n in (3, 5)],
        [
            pr.Evaluation(pr.measure("dcg", gain=lambda grade, n=n: grade * n))
            for n in (2, 3)
        ],
    )
    for one, other in pairs:
        assert one.definition != other.definition
        with pytest.raises(pr.DataError, match="does not add to those of this"):
            one.merge(other.partial(LOG))


def test_a_measure_that_changed_is_another(monkeypatch):
    """Its version tells, not that of the package."""
    kept = EVALUATION.partial(LOG)
    monkeypatch.setattr(pr, "__version__", "99.0")
    assert bits(EVALUATION.merge(kept)) == bits(
        pr.evaluate(LOG, MEASURES, by="country")
    )
    monkeypatch.setitem(METRICS["ap"].__dict__, "version", 2)
    with pytest.raises(pr.DataError, match="ap is 'ap, version 1' there and 'ap, ver"):
        pr.Evaluation(MEASURES, by="country").merge(kept)


# -- each part once


def twice(*given, evaluation=EVALUATION):
    with pytest.raises(pr.DataError, match="the same part twice") as told:
        evaluation.merge([*given])
    assert told.value.rule == "part_twice"
    return str(told.value)


def test_a_day_merged_twice_is_an_error(tmp_path):
    days = split(LOG, 3, 2)
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for day, path in zip(days, paths, strict=True):
        EVALUATION.partial(day).write_parquet(path)
    kept = [pl.read_parquet(path) for path in paths]
    (tmp_path / "copy").mkdir()
    again = tmp_path / "copy" / "again.parquet"
    EVALUATION.partial(days[1].reverse()).write_parquet(again)  # made anew
    told = twice(*paths, again)
    assert "1.parquet and " in told
    assert "again.parquet: " in told
    assert "0.parquet" not in told
    twice(pl.concat([*kept, kept[0]]))
    month = EVALUATION.add(kept)
    twice(month, paths[2])
    twice(EVALUATION.add([month]), month)
    whole = bits(pr.evaluate(LOG, MEASURES, by="country"))
    assert bits(EVALUATION.merge(month)) == whole
    assert len(month["digests"][0].split(" ")) == 3


def test_days_without_a_change_are_told_apart_by_name():
    day = LOG.head(40)
    alike = [EVALUATION.partial(day, part=f"2026-11-0{i}") for i in (1, 2)]
    found = EVALUATION.merge(alike)
    assert found["queries"].sum() == 2 * day["query_id"].n_unique()
    twice(alike[0], EVALUATION.partial(day, part="2026-11-01"))
    with pytest.raises(TypeError, match="part must be text, such as the day"):
        EVALUATION.partial(day, part=1)


def test_parts_of_one_value_are_not_one_part():
    """Days with one query each, whose sums are all the same; days without any."""
    days = [LOG.head(1).with_columns(query_id=i, label=1) for i in range(5)]
    partials = [EVALUATION.partial(day) for day in (*days, LOG.clear(), LOG.clear())]
    assert EVALUATION.merge(partials)["queries"].sum() == 5


def test_a_digest_knows_no_order_and_no_codes():
    """The codes of categories are those of a process, or of a list."""
    log = LOG.with_columns(pl.format("q{}", "query_id").alias("query_id"))
    ids, lands = ([*log[n].drop_nulls().unique()] for n in ("query_id", "country"))
    rng, found = random.Random(3), set()
    for seed, dtype in enumerate([pl.String, pl.Categorical, pl.Enum, pl.Enum]):
        for names in (ids, lands):
            rng.shuffle(names)
        part = log.sample(fraction=1, shuffle=True, seed=seed).with_columns(
            pl.col(name).cast(pl.Enum(names) if dtype is pl.Enum else dtype)
            for name, names in (("query_id", ids), ("country", lands))
        )
        for given in (part, part.lazy()):
            found |= {*EVALUATION.partial(given)["digests"]}
    assert len(found) == 1


# -- queries in two parts


def test_whether_a_query_is_in_two_parts_cannot_always_be_told():
    evaluation = pr.Evaluation("ap")
    halves = [LOG.gather_every(2), LOG.gather_every(2, 1)]
    both = [evaluation.partial(half, keys=True) for half in halves]
    with pytest.raises(pr.DataError, match="more than one part"):
        evaluation.merge(both)
    neither = [evaluation.partial(half) for half in halves]
    evaluation.merge(neither)
    for mixed in ([both[0], neither[1]], [evaluation.add([both[0], neither[1]])]):
        with pytest.warns(
            pr.DataWarning, match="nobody can tell whether one is in two"
        ):
            evaluation.merge(mixed)


def test_broadcast_judgments_need_the_queries_of_all_parts():
    """Those of parts that do not list them counted as missing."""
    run, qrels = LOG.drop("label"), LOG.select("query_id", "doc_id", "label")
    evaluation = pr.Evaluation("ap", missing="zero")
    first, second = split(run, 2, 1)
    partials = [
        evaluation.partial(first, qrels=qrels, broadcast=True),
        evaluation.partial(second, qrels=qrels.join(second, on="query_id", how="semi")),
    ]
    with pytest.raises(ValueError, match="made with broadcast=True"):
        evaluation.merge(partials, qrels=qrels)


def test_segments_are_of_one_type():
    numbered = LOG.with_columns(country=pl.col("query_id") % 2)
    text = numbered.cast({"country": pl.String})
    small = numbered.cast({"country": pl.Int8})
    parts = [numbered.filter(query_id=1), text.filter(query_id=2)]
    with pytest.raises(
        pr.DataError, match="'country' is text in partial 2 and a number"
    ):
        EVALUATION.merge([EVALUATION.partial(part) for part in parts])
    parts[1] = small.filter(query_id=2)
    assert len(EVALUATION.merge([EVALUATION.partial(part) for part in parts])) == 2


# -- damage

KEPT = EVALUATION.partial(LOG)
SUMS = [c for c in KEPT.columns if c.startswith("x_")]


def null(column):
    return KEPT.with_columns(pl.lit(None, KEPT.schema[column]).alias(column))


def at(row, **values):
    place = pl.int_range(pl.len()) == row
    return KEPT.with_columns(
        pl.when(place).then(pl.lit(v)).otherwise(n).alias(n) for n, v in values.items()
    )


def told(definition):
    return KEPT.with_columns(definition=pl.lit(definition))


NDCG = KEPT["measure"].to_list().index("ndcg@10")
DAMAGE = {
    "no rows": (KEPT.clear(), "has no rows"),
    "no columns": (pl.DataFrame(), "no partial, but a frame of no columns"),
    "another frame": (LOG, "no partial, but a frame of query_id"),
    "definition is null": (null("definition"), "'definition' is null in"),
    "digests are null": (null("digests"), "'digests' is null in"),
    "older": (told("8e2f01aa99b3c44d"), "was written before format 1"),
    "half a definition": (told('{"state": "partial"'), "was written before format 1"),
    "newer": (told('{"state": "partial", "format": 2}'), "has format 2, not 1"),
    "other kind": (told('{"state": "moments", "format": 1}'), "of kind 'moments'"),
    "n below 0": (at(NDCG, n=-1), "column 'n' holds a number"),
    "n above queries": (at(NDCG, n=10**6), "column 'n' holds a number"),
    "n is null": (at(NDCG, n=None), "column 'n' holds a number"),
    "queries below 0": (at(0, queries=-1), "column 'queries' holds a number"),
    "queries are null": (at(0, queries=None), "column 'queries' holds a number"),
    "too large": (at(NDCG, x_plain=1e4, x_0=10**4, x_high=1e4), "the sum of 'ndcg@10'"),
    "below 0": (at(NDCG, x_plain=-1.0, x_0=-1, x_1=0), "the sum of 'ndcg@10'"),
    "limbs": (at(NDCG, x_0=10**4), "the sum of 'ndcg@10'"),
    "measure": (at(NDCG, measure="ndcg"), "measure 'ndcg' is none of"),
    "text": (KEPT.cast({"n": pl.String}), "column 'n' is String, no number"),
    "one segment twice": (pl.concat([KEPT, KEPT[NDCG]]), "the same part twice"),
    **{
        f"no {name}": (KEPT.drop(name), "no partial, but" if name == "definition" else
        f"has no column {name!r}")
        for name in KEPT.columns
        if not name.startswith(("found", "fractions"))
    },
    **{f"no row {i}": (KEPT.filter(pl.int_range(pl.len()) != i), "lacks the row of")
       for i in (0, NDCG, len(KEPT) - 1)},
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_with_the_file(name, tmp_path):
    damaged, message = DAMAGE[name]
    path = tmp_path / "monday.parquet"
    damaged.write_parquet(path)
    sound = EVALUATION.partial(LOG.with_columns(pl.col("query_id") + 100))
    for given in ([path], [sound, path]):
        with pytest.raises(pr.DataError, match=message) as caught:
            EVALUATION.merge(given)
        assert caught.value.rule in ("damaged_state", "part_twice")
        assert "monday.parquet" in str(caught.value)


def test_a_partial_from_a_text_file(tmp_path):
    path = tmp_path / "monday.csv"
    KEPT.drop("violations").write_csv(path)
    with pytest.raises(pr.DataError, match=r"monday\.csv: has no column 'violations'"):
        EVALUATION.merge(path)


def test_whatever_cell_is_lost_nothing_fails_in_another_way():
    """A cell, a column or a row at random: a DataError, or the bits of the whole."""
    rng, whole = random.Random(5), bits(pr.evaluate(LOG, MEASURES, by="country"))
    refused = 0
    for _ in range(60):
        column = rng.choice(KEPT.columns)
        damaged = at(rng.randrange(len(KEPT)), **{column: None})
        try:
            found = bits(EVALUATION.merge(damaged))
        except pr.DataError:
            refused += 1
        else:
            assert found == whole, column
    assert refused > 20


@pytest.mark.parametrize(
    ("convention", "no_relevant", "weight"),
    [
        ("trec_eval", "zero", None),
        ("lenskit", "one", "traffic"),
        *(
            slow(convention, no_relevant, (None, "traffic")[(i + j) % 2])
            for i, convention in enumerate(("trec_eval", "xgboost", "lenskit"), 1)
            for j, no_relevant in enumerate(("zero", "one", "skip", "one_unweighted"))
        ),
    ],
)
def test_sums_of_every_measure_are_possible(convention, no_relevant, weight):
    """None is taken for damage, whatever its values; under weights of any size."""
    heavy = pl.col("traffic") * 10.0 ** (pl.col("query_id") % 9)
    log = rows(40, seed=2).with_columns(traffic=heavy)
    names = [n for n, m in METRICS.items() if m.vocabulary == "ranking"]
    options = {"weight": weight, "convention": convention, "no_relevant": no_relevant}
    evaluation = pr.Evaluation(names, **options)
    partials = [evaluation.partial(part) for part in split(log, 2, 1)]
    assert len(evaluation.merge(partials)) == 1


# -- the envelope


def test_differences_are_named():
    one, other = (
        {"a": 1, "m": {"x": "v1", "y": 2}, "b": None},
        {"a": 1, "m": {"x": 3}},
    )
    found = state.differences(json.dumps(one), json.dumps(other))
    assert (
        found == "m x is 'v1' there and 3 here, m y is 2 there and nothing here, "
        "b is None there and nothing here"
    )
    assert not state.differences('{"a": 1}', '{"a": 1.0}')


def test_bounds_hold():
    """Values of random queries; a kept sum beyond them would be refused."""
    names = [n for n, m in METRICS.items() if m.vocabulary == "ranking"]
    values = pr.per_query(rows(200, seed=4), names)
    for name in names:
        least, most = METRICS[name].bounds_with({})
        assert values[name].drop_nulls().is_between(least - 1e-12, most + 1e-12).all()
