"""Documents to judge next: every label by itself, in plain loops."""

from __future__ import annotations

import random
from itertools import combinations, product

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from random_lists import IDS
from reference import METRICS, Doc
from slow import slow

import polars_rank as pr
from polars_rank import analysis
from polars_rank.analysis import label_effects

MEASURES = {
    "ndcg@3": (3, lambda docs: METRICS["ndcg"](docs, k=3)),
    "dcg@4": (4, lambda docs: METRICS["dcg"](docs, k=4)),
    "precision@5": (5, lambda docs: METRICS["precision"](docs, k=5)),
    "rr": (None, METRICS["rr"]),
    "ap": (None, METRICS["ap"]),
    "recall@2": (2, lambda docs: METRICS["recall"](docs, k=2)),
    "f_measure@3": (3, lambda docs: METRICS["f_measure"](docs, k=3)),
    "judged@3": (3, lambda docs: METRICS["judged"](docs, k=3)),
}


def drawn(seed: int, runs: int):
    """Runs of other lengths, a query that one lacks, queries without judgments."""
    draw = random.Random(seed)
    lists, qrels, weights = {}, {}, {}
    for name in ("old", "new", "other")[:runs]:
        queries = [q for q in "abcdef" if draw.random() < 0.9]
        lists[name] = {q: draw.sample("uvwxyz", draw.randint(1, 6)) for q in queries}
    for query in "abcdef":
        docs = draw.sample("uvwxyz", draw.randint(0, 3))
        weights[query] = draw.randint(1, 5)
        if docs:
            qrels[query] = {doc: draw.randint(0, 2) for doc in docs}
    return lists, qrels, weights


def docs_of(ranked, labels):
    """The documents of a query, in order, and those that were not retrieved."""
    listed = [Doc(d, -float(i), labels.get(d)) for i, d in enumerate(ranked)]
    return listed + [Doc(d, None, g) for d, g in labels.items() if d not in ranked]


def plain(lists, qrels, weights, measure, grade):
    """Judge one document at a time, and evaluate everything anew."""
    depth, loop = MEASURES[measure]
    queries = sorted({q for run in lists.values() for q in run})
    total = sum(weights[q] for q in queries)

    def mean(run, extra=None):
        found = 0.0
        for query in queries:
            labels = dict(qrels.get(query, {}))
            if extra is not None and extra[0] == query:
                labels[extra[1]] = grade
            if query in run:
                value = loop(docs_of(run[query], labels)) or 0.0
                found += weights[query] / total * value
        return found

    moves = {}
    for name, run in lists.items():
        for query, ranked in run.items():
            for place, doc in enumerate(ranked[:depth], 1):
                if doc not in qrels.get(query, {}):
                    moves.setdefault((query, doc), {})[name] = place
    base = {name: mean(run) for name, run in lists.items()}
    effects = {
        key: {name: mean(run, key) - base[name] for name, run in lists.items()}
        for key in moves
    }
    rows = {}
    for key, places in moves.items():
        own = effects[key]
        reverses = False
        for s, t in combinations(lists, 2):
            gap = base[s] - base[t]
            sign = -1 if gap > 0 else 1
            against = {k: sign * (e[s] - e[t]) for k, e in effects.items()}
            if abs(gap) < 1e-12:
                reverses |= abs(own[s] - own[t]) > 1e-12
            else:
                reach = sum(max(a, 0) for a in against.values()) > abs(gap) - 1e-12
                reverses |= against[key] > 1e-12 and reach
        (single, *others) = own.values()
        stake = max(own.values()) - min(own.values()) if others else abs(single)
        rows[key] = (min(places.values()), len(places), stake, reverses)
    return rows


@pytest.mark.covering(1)
@pytest.mark.parametrize("runs", [1, 2, 3])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(3))
def test_stakes_are_those_of_loops(runs, measure, seed):
    lists, qrels, weights = drawn(seed, runs)
    traffic = pl.DataFrame({"query_id": [*weights], "traffic": [*weights.values()]})
    frames = {
        name: pl.DataFrame(
            [(q, d, r) for q, docs in run.items() for r, d in enumerate(docs, 1)],
            schema=["query_id", "doc_id", "rank"],
            orient="row",
        ).join(traffic, on="query_id", maintain_order="left")
        for name, run in lists.items()
    }
    given = frames if runs > 1 else frames["old"]
    found = analysis.to_judge(
        given,
        measure,
        qrels=qrels,
        n_judgments=None,
        max_grade=3,
        rank="rank",
        weight="traffic",
    )
    wanted = plain(lists, qrels, weights, measure, 3)
    rows = {(row["query_id"], row["doc_id"]): row for row in found.to_dicts()}
    assert rows.keys() == wanted.keys()
    for key, (rank, systems, stake, reverses) in wanted.items():
        row = rows[key]
        assert row["stake"] == pytest.approx(stake, abs=1e-12)
        assert row["rank"] == rank
        if runs > 1:
            assert row["systems"] == systems
            if measure not in ("ndcg@3", "recall@2"):  # whose divisor labels change
                assert row["reverses"] == reverses, key
    first = ["reverses", "stake"] if runs > 1 else ["stake"]
    assert_frame_equal(found.select(first), found.select(first).sort(first)[::-1])
    few = analysis.to_judge(
        given,
        measure,
        qrels=qrels,
        n_judgments=2,
        max_grade=3,
        rank="rank",
        weight="traffic",
    )
    assert few.equals(found.head(2))


def test_weights_are_those_of_runs_of_queries_or_of_judgments():
    """Frame by frame the same; a query that has none is refused."""
    lists, labels, traffic = drawn(2, 2)
    names = ["query_id", "doc_id", "rank"]
    runs = {
        name: pl.DataFrame(
            [(q, d, r) for q, docs in run.items() for r, d in enumerate(docs, 1)],
            names,
            orient="row",
        )
        for name, run in lists.items()
    }
    rows = [(q, d, g) for q, docs in labels.items() for d, g in docs.items()]
    qrels = pl.DataFrame(rows, [*names[:2], "label"], orient="row")
    weights = pl.DataFrame({"query_id": [*traffic], "w": [*traffic.values()]})
    runs = {n: run.filter(pl.col("query_id").is_in(labels)) for n, run in runs.items()}
    asked = {"measure": "ndcg@3", "rank": "rank", "weight": "w"}

    def joined(frame):
        return frame.join(weights, on="query_id", maintain_order="left")

    own = {name: joined(run) for name, run in runs.items()}
    wanted = analysis.to_judge(own, qrels=qrels, **asked)
    found = analysis.to_judge(runs, qrels=qrels, segments=weights.lazy(), **asked)
    assert_frame_equal(found, wanted)
    assert_frame_equal(analysis.to_judge(runs, qrels=joined(qrels), **asked), wanted)
    for wrong in (None, -1.0, float("nan"), float("inf")):
        odd = weights.with_columns(w=pl.lit(wrong, pl.Float64))
        with pytest.raises(pr.DataError, match="weights must be 0 or more: 'w'"):
            analysis.to_judge(runs, qrels=qrels, segments=odd, **asked)
    nothing = weights.with_columns(w=0.0)
    with pytest.raises(pr.DataError, match="no query has a weight above 0"):
        analysis.to_judge(runs, qrels=qrels, segments=nothing, **asked)


@pytest.mark.parametrize("measure", ["dcg@4", "precision@5"])
@pytest.mark.parametrize("seed", range(8))
def test_whether_an_order_can_be_reversed_is_exact_for_sums(measure, seed):
    """All labelings of a small pool: the sign changes just where it is said to."""
    draw = random.Random(seed)
    lists = {name: {"q": draw.sample("abcdefgh", 5)} for name in ("old", "new")}
    qrels = {"q": {d: draw.randint(0, 1) for d in draw.sample("abcdefgh", 4)}}
    _, loop = MEASURES[measure]
    found = analysis.to_judge(lists, measure, qrels=qrels, n_judgments=None)
    unjudged = found["doc_id"].to_list()
    signs = set()
    for size in range(len(unjudged) + 1):
        for chosen in combinations(unjudged, size):
            labels = qrels["q"] | dict.fromkeys(chosen, 1)
            old, new = (loop(docs_of(run["q"], labels)) for run in lists.values())
            signs.add(0 if abs(new - old) < 1e-12 else (1 if new > old else -1))
    assert found["reverses"].any() == (len(signs) > 1)


def pool(seed):
    """Lists of two or three runs, some of which lack a query; few are unjudged."""
    draw = random.Random(seed)
    names = draw.choice(["st", "st", "str"])
    queries = "xyzuv"[: draw.randint(1, 4)]
    lists = {
        name: {q: draw.sample("abcdefg", draw.randint(3, 6)) for q in queries}
        for name in names
    }
    for run in lists.values():
        if len(run) > 1 and draw.random() < 0.2:
            del run[draw.choice([*run])]
    grade = draw.choice([1, 2, 3])
    judged = [draw.sample("abcdefg", draw.randint(4, 6)) for _ in queries]
    qrels = {
        query: {doc: draw.randint(0, grade) for doc in docs}
        for query, docs in zip(queries, judged, strict=True)
    }
    if len(qrels) > 2 and draw.random() < 0.2:
        del qrels[queries[0]]
    return lists, qrels, grade


def may_reverse(lists, qrels, grade, k, loop):
    """Whether any labels reach the other side of zero, of any two runs.

    Those of a query do not touch another: each has an extreme of its own.
    """
    queries = {q for run in lists.values() for q in run}
    found = False
    for runs in combinations(lists.values(), 2):
        ends = []
        for query in queries:
            known = qrels.get(query, {})
            every = {d for run in lists.values() for d in run.get(query, [])[:k]}
            open_ones = sorted(every - {*known})
            gaps = []
            for labels in product([None, *range(grade + 1)], repeat=len(open_ones)):
                own = known | {
                    d: g
                    for d, g in zip(open_ones, labels, strict=True)
                    if g is not None
                }
                one, other = (
                    (loop(docs_of(run[query], own)) or 0.0) if query in run else 0.0
                    for run in runs
                )
                gaps.append(one - other)
            ends.append((gaps[0], min(gaps), max(gaps)))
        now, low, high = map(sum, zip(*ends, strict=True))
        if abs(now) < 1e-12:
            found |= high - low > 1e-12
        else:
            found |= low <= 1e-12 if now > 0 else high >= -1e-12
    return found


@pytest.mark.parametrize("measure", ["ndcg@3", "recall@2"])
@pytest.mark.parametrize("seed", [14, 50, 84, 89, *map(slow, range(40))])
def test_whether_an_order_can_be_reversed_is_exact_for_ndcg_and_recall(measure, seed):
    """All labelings of each query: labels change its divisor, too."""
    lists, qrels, grade = pool(seed)
    k, loop = MEASURES[measure]
    qrels.setdefault("w", {"a": grade})
    for run in lists.values():  # a document that decides nothing, for all are judged
        run["w"] = ["a", "b"]
    found = analysis.to_judge(
        lists, measure, qrels=qrels, n_judgments=None, max_grade=grade
    )
    assert found["reverses"].any() == may_reverse(lists, qrels, grade, k, loop)


def test_a_lower_grade_may_reverse_what_the_highest_does_not():
    """Document a of query q: with grade 3 the ideal order gains more than a list."""
    lists = {
        "s": {"p": [*"dbca"], "q": [*"eacb"]},
        "t": {"p": [*"adcb"], "q": [*"dbac"]},
    }
    qrels = {
        "p": {"a": 2, "b": 0, "c": 2, "d": 1},
        "q": {"b": 2, "c": 2, "d": 0, "e": 2},
    }
    found = analysis.to_judge(lists, "ndcg@3", qrels=qrels, max_grade=3)
    assert found.select("doc_id", "reverses").rows() == [("a", True)]
    means = {
        grade: [
            pr.evaluate(run, "ndcg@3", qrels=qrels | {"q": qrels["q"] | {"a": grade}})
            .get_column("ndcg@3")
            .item()
            for run in lists.values()
        ]
        for grade in (0, 1, 2, 3)
    }
    assert [new > old for old, new in means.values()] == [True, False, False, True]


CHOICES = [
    {},
    {"rel": 2},
    {"unjudged": "drop"},
    {"convention": pr.CONVENTIONS["trec_eval"].replace(judgments="retrieved")},
    {"convention": "ranx"},
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", CHOICES, ids=range(len(CHOICES)))
@pytest.mark.parametrize("measure", ["ndcg@3", "recall@3", "rbp", "fall_out@3", "sdcg"])
def test_terms_and_copies_of_queries_say_the_same(measure, options, monkeypatch):
    """One label at a time in a query of its own, as for measures that are no sums."""
    lists, qrels, _ = drawn(7, 3)
    asked = {"qrels": qrels, "n_judgments": None, "max_grade": 3, **options}
    found = analysis.to_judge(lists, measure, **asked)
    monkeypatch.setattr(label_effects.Pool, "terms", None)
    wanted = analysis.to_judge(lists, measure, **asked)
    keys = ["query_id", "doc_id"]
    assert_frame_equal(found.sort(keys), wanted.sort(keys), abs_tol=1e-14)


def test_queries_are_copied_only_where_documents_change_the_terms_of_others(
    monkeypatch,
):
    def refused(*args):
        raise AssertionError

    monkeypatch.setattr(label_effects, "_by_copies", refused)
    lists, qrels, _ = drawn(7, 2)
    for measure in ("ndcg@3", "dcg", "precision@5", "recall@2", "rbp", "judged@3"):
        analysis.to_judge(lists, measure, qrels=qrels)
    best = {"convention": CHOICES[3]["convention"]}  # of the retrieved documents
    for measure, options in (("rr", {}), ("ap", {}), ("err", {}), ("ndcg@3", best)):
        with pytest.raises(AssertionError):
            analysis.to_judge(lists, measure, qrels=qrels, **options)


def test_equal_stakes_are_in_the_order_of_ids():
    """Queries that are alike but for the names: rank by rank, then by query."""
    names = ["abcde", "edcba", "caebd"]
    old = {f"q{i}": [*names[i % 3]] for i in range(40)}
    new = {q: [*docs[3:], *docs[:3]] for q, docs in old.items()}
    qrels = {q: {docs[0]: 3, docs[1]: 1} for q, docs in old.items()}
    found = analysis.to_judge({"old": old, "new": new}, "ndcg@5", qrels=qrels)
    rows = found.with_columns(pl.col("stake").round(10))
    by = ["reverses", "stake", "query_id", "doc_id"]
    assert rows.equals(rows.sort(by, descending=[True, True, False, False]))


@pytest.mark.parametrize("ids", IDS)
def test_ids_keep_their_type(ids):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ids, "score": [2, 1]})
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ids[1:], "label": [1]})
    found = analysis.to_judge(run, "rr", qrels=qrels)
    assert found.schema["doc_id"] == ids.dtype
    assert found.select("doc_id", "rank", "stake").rows() == [(ids[0], 1, 0.5)]


def test_choices_count_as_in_a_convention():
    """A label below rel= is at stake for nothing."""
    run, qrels = {"q": list("abcde")}, {"q": {"a": 1, "b": 2}}
    asked = {"qrels": qrels, "n_judgments": None}
    for choice, measure in (({"rel": 2}, "precision@3"), ({"unjudged": "drop"}, "rr")):
        convention = pr.CONVENTIONS["trec_eval"].replace(**choice)
        found = analysis.to_judge(run, measure, **asked, **choice)
        wanted = analysis.to_judge(run, measure, **asked, convention=convention)
        assert_frame_equal(found, wanted)
    low = analysis.to_judge(run, "precision@3", **asked, max_grade=1, rel=2)
    assert low["stake"].to_list() == [0.0]


def test_labels_go_back_in(tmp_path):
    runs = {"old": {"q": list("abcd")}, "new": {"q": list("bxad")}}
    qrels = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "label": [1.0, 0.0]})
    asked = analysis.to_judge(runs, "dcg@3", qrels=qrels)
    asked.write_csv(tmp_path / "to_judge.csv")
    filled = pl.read_csv(tmp_path / "to_judge.csv", schema_overrides=asked.schema)
    filled = filled.with_columns(
        label=pl.when(pl.col("doc_id") == "x").then(1.0).otherwise(pl.col("label"))
    )
    both = pl.concat([qrels, filled.select(qrels.columns)])
    again = analysis.to_judge(runs, "dcg@3", qrels=both)
    assert again["doc_id"].to_list() == ["c"]
    values = pr.per_query(runs["new"], ["hits@3", "judged@3"], qrels=both)
    assert values.rows() == [("q", 2.0, 1.0)]
    assert pr.per_query(runs["old"], "judged@4", qrels=both)["judged@4"].item() == 0.5


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        (
            {"measure": ["rr", "ap"]},
            ValueError,
            "one registered measure, not at rr, ap",
        ),
        (
            {"n_judgments": 0},
            ValueError,
            "n_judgments must be a whole number of at least 1, or None",
        ),
        ({"max_grade": 0}, ValueError, "max_grade must be a number above 0, not 0"),
        ({"qrels": {"q": {"a": 1, "b": 0}}}, pr.DataError, "nothing is at stake"),
        ({"weight": "traffic"}, pl.exceptions.ColumnNotFoundError, "'traffic' is not"),
    ],
)
def test_wrong_arguments(options, error, told):
    asked = {"measure": "rr", "qrels": {"q": {"a": 1}}} | options
    with pytest.raises(error, match=told):
        analysis.to_judge({"q": ["a", "b"]}, **asked)


def test_several_systems_in_one_frame_are_told_of():
    rows = {
        "query_id": [1] * 4,
        "doc_id": ["a", "b"] * 2,
        "score": [1.0, 2.0, 2.0, 1.0],
    }
    runs = pl.DataFrame({"system": ["x", "x", "y", "y"], **rows})
    labels = {1: {"a": 1}}
    told = (
        "column 'system': if it holds several systems, .* system=\"system\"; if not: "
    )
    with pytest.raises(pr.DataError, match=told) as caught:
        analysis.to_judge(runs, "rr", qrels=labels)
    assert caught.value.rule == "duplicate_doc"
    with pytest.raises(pr.DataError, match=told):
        pr.audit(runs, "rr", qrels=labels)
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    with pytest.raises(pr.DataError, match=told):
        pr.estimate(runs, "rr", qrels=qrels, model_qrels=qrels)
    with pytest.raises(pr.DataError, match=r"^(?!a query has)"):
        analysis.to_judge(runs.drop("system"), "rr", qrels=labels)
    asked = analysis.to_judge(runs, "rr", qrels=labels, system="system")
    assert asked["doc_id"].to_list() == ["b"]
