"""Judgments with subtopics: against plain loops, and every option of the frames."""

from __future__ import annotations

import itertools
import math
import random

import polars as pl
import pytest
from cases import SUBTOPIC_CASES
from polars.testing import assert_frame_equal
from reference import SUBTOPIC_METRICS as LOOPS
from reference import SUBTOPIC_VARIANTS as VARIANTS
from reference.subtopic import _covered, _gains, _greedy, _total
from slow import ENGINES, slow
from vocabularies import SUBTOPIC_METRICS

import polars_rank as pr
from polars_rank._engine.spill import budget
from polars_rank.cli import main

QRELS = {"query_id": pl.String, "subtopic": pl.String, "doc_id": pl.String}
RUN = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
TWO = {
    "run": [("q", "a", 2.0), ("q", "b", 1.0)],
    "qrels": [("q", "A", "a", 1), ("q", "A", "b", 1), ("q", "B", "b", 1)],
}


def frames(run: list, qrels: list) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    return (
        pl.LazyFrame(run, schema=RUN, orient="row"),
        pl.LazyFrame(qrels, schema=QRELS | {"label": pl.Float64}, orient="row"),
    )


def made_up(seed: int, queries: int = 50) -> tuple[list, list]:
    """Ties, unjudged, unretrieved and deep documents, missing queries, odd grades."""
    rng = random.Random(seed)
    run, qrels = [], []
    for q in range(queries):
        docs = [
            f"d{i}é" if i % 5 else f"D{i}" for i in range(rng.choice([1, 4, 12, 50]))
        ]
        density = rng.choice([0.04, 0.2, 0.7])
        grades = rng.choice([[-1, 0, 1, 2, 3], [0, 0.5, 1.5], [-1, 0], [1]])
        qrels += [
            (f"q{q:02}", f"s{s}", doc, rng.choice(grades))
            for s in range(rng.choice([1, 2, 7]))
            for doc in docs
            if rng.random() < density
        ]
        if rng.random() < 0.9:
            pool = docs + [f"x{i}" for i in range(30)]
            steps = rng.choice([3, 10_000])
            found = rng.sample(pool, rng.randint(1, len(pool)))
            run += [(f"q{q:02}", doc, rng.randrange(steps) / 8) for doc in found]
    run.append(("never judged", "d1", 1.0))
    rng.shuffle(run)
    rng.shuffle(qrels)
    return run, qrels


def by_query(run: list, qrels: list) -> dict[str, tuple[list, dict]]:
    """Documents in rank order (ties: id descending) and grades by subtopic."""
    found: dict[str, tuple[list, dict]] = {}
    for query, subtopic, doc, grade in qrels:
        _, grades = found.setdefault(query, ([], {}))
        grades.setdefault(subtopic, {})[doc] = grade
    for query, (docs, _) in found.items():
        rows = [(score, doc.encode()) for q, doc, score in run if q == query]
        docs += [doc.decode() for _, doc in sorted(rows, reverse=True)]
    return found


def measures(name: str) -> dict[str, dict]:
    return {f"{name}{i}": params for i, params in enumerate(VARIANTS[name])}


def compare(found: pl.DataFrame, name: str, run: list, qrels: list) -> None:
    wanted = by_query(run, qrels)
    rows = {row["query_id"]: row for row in found.iter_rows(named=True)}
    assert rows.keys() == wanted.keys()
    for query, (docs, grades) in wanted.items():
        for column, params in measures(name).items():
            value = LOOPS[name](docs, grades, **params)
            close = math.isclose(
                rows[query][column], value, rel_tol=1e-12, abs_tol=1e-13
            )
            assert close, (query, params, rows[query][column], value)


def asked(name: str) -> list[pr.Measure]:
    return [pr.measure(name, name=c, **p) for c, p in measures(name).items()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SUBTOPIC_METRICS)
def test_plain_loops(name, engine):
    run, qrels = made_up(1)
    ranked, judged = frames(run, qrels)
    found = ranked.rank_eval.per_query(asked(name), qrels=judged, subtopic="subtopic")
    compare(found.collect(engine=engine), name, run, qrels)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "options"),
    [
        ("place", {}),
        slow(None, {}),
        *(
            slow(rank, {"layout": layout})
            for rank in (None, "place")
            for layout in ("contiguous", "any")
        ),
    ],
)
def test_every_layout(rank, options, tmp_path):
    """All measures at once, from files, ranks known or not."""
    run, qrels = made_up(2)
    run.sort(key=lambda row: row[0])
    ranked, judged = frames(run, qrels)
    ranks = pl.struct("score", "doc_id").rank("ordinal", descending=True)
    ranked = ranked.with_columns(place=ranks.over("query_id").cast(pl.Int64))
    ranked.collect().write_parquet(tmp_path / "run.parquet")
    names = [m for name in SUBTOPIC_METRICS for m in asked(name)]
    options = options | {"qrels": judged, "subtopic": "subtopic"}
    found = pr.per_query(
        pl.scan_parquet(tmp_path / "run.parquet"), names, rank=rank, **options
    ).collect()
    assert found["query_id"].is_sorted()
    for name in SUBTOPIC_METRICS:
        compare(found, name, run, qrels)


@pytest.mark.parametrize(
    ("ties", "wanted"), [("optimistic", 1), ("pessimistic", 1 / 2)]
)
def test_equal_grades_go_by_id(ties, wanted):
    """Document a has one of two subtopics, and b has both."""
    rows = [("q", "a", 1.0), ("q", "b", 1.0)]
    judged = [("q", "A", "a", 1), ("q", "A", "b", 1), ("q", "B", "b", 1)]
    for order in (rows, rows[::-1]):
        ranked, qrels = frames(order, judged)
        found = pr.per_query(
            ranked, "strec@1", qrels=qrels, subtopic="subtopic", ties=ties
        )
        assert found.collect().row(0) == ("q", wanted)


@pytest.mark.parametrize(
    ("ties", "wanted"), [("optimistic", 2 / 3), ("pessimistic", 1 / 3)]
)
def test_ties_go_by_the_best_grade(ties, wanted, collect):
    """Document a has grades 0, 2 and 2, b has 1: one of them is at rank 1."""
    ranked, judged = frames(
        [("q", "a", 1.0), ("q", "b", 1.0)],
        [
            ("q", "A", "a", 0),
            ("q", "B", "a", 2),
            ("q", "C", "a", 2),
            ("q", "A", "b", 1),
        ],
    )
    found = pr.per_query(
        ranked,
        "err_ia(norm=none)@1",
        qrels=judged,
        subtopic="subtopic",
        convention=pr.CONVENTIONS["trec_eval"].replace(ties=ties),
    )
    assert collect(found).row(0) == ("q", pytest.approx(wanted))


@pytest.mark.slow
def test_a_small_frame_equals_a_lazy_one():
    ranked, judged = frames(*made_up(3))
    names = [m for name in SUBTOPIC_METRICS for m in asked(name)]
    options = {"qrels": judged, "subtopic": "subtopic"}
    small = pr.per_query(ranked.collect(), names, **options)
    lazy = pr.per_query(ranked, names, **options).collect(engine="streaming")
    assert_frame_equal(small, lazy, rel_tol=1e-14)


@pytest.mark.slow
def test_buckets_on_disk(monkeypatch, tmp_path):
    small = budget.Budget(bucket=1 << 15, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)
    ranked, judged = frames(*made_up(3))
    told: list[pr.parts.Progress] = []
    options = {"qrels": judged, "subtopic": "subtopic"}
    names = ["alpha_ndcg@5", "ap_ia", "nrbp"]
    whole = pr.per_query(ranked, names, **options).collect()
    parts = pr.per_query(
        ranked,
        names,
        layout="any",
        memory_limit="1GB",
        temp_dir=tmp_path,
        progress=told.append,
        **options,
    ).collect()
    assert_frame_equal(parts, whole, rel_tol=1e-14)
    assert told[-1].total > 1


def test_row_order_changes_nothing():
    ranked, judged = frames(*made_up(4))
    names = [m for name in SUBTOPIC_METRICS for m in asked(name)]
    found = [
        pr.per_query(
            ranked.collect().sample(fraction=1, shuffle=True, seed=seed),
            names,
            qrels=judged.collect().sample(fraction=1, shuffle=True, seed=seed),
            subtopic="subtopic",
        )
        for seed in (1, 2)
    ]
    assert found[0].equals(found[1])


ON_BOTH = [
    (*case, engine) if i % 2 == j else slow(*case, engine)
    for i, case in enumerate(SUBTOPIC_CASES)
    for j, engine in enumerate(("in-memory", "streaming"))
]


@pytest.mark.parametrize(("name", "grades", "params", "expected", "engine"), ON_BOTH)
def test_by_hand(name, grades, params, expected, engine):
    """Grades in rank order; those behind None were not retrieved."""
    size = max(map(len, grades.values()))
    cut = next((g.index(None) for g in grades.values() if None in g), size)
    run = [("q", f"d{i}", float(-i)) for i in range(cut)]
    qrels = [
        ("q", subtopic, f"d{i}", grade)
        for subtopic, given in grades.items()
        for i, grade in enumerate(given)
        if grade is not None
    ]
    ranked, judged = frames(run, qrels)
    found = ranked.rank_eval.evaluate(
        pr.measure(name, **params), qrels=judged, subtopic="subtopic"
    )
    value = found.collect(engine=engine).row(0)[1]
    assert value == pytest.approx(expected, rel=1e-12)


def test_the_greedy_order_is_not_always_the_best():
    """A document that covers most comes first and spoils the rest."""
    rng = random.Random(5)
    run, qrels, shares = [], [], {}
    for i in range(200):
        grades = {
            t: {f"d{i}": 1 for i in range(5) if rng.random() < 0.45} for t in "ABCD"
        }
        covered = _covered(grades, 1)
        if len(covered) < 3:
            continue
        best = max(
            _total(_gains(list(order), covered, 0.5), 3, "log")
            for order in itertools.permutations(covered)
        )
        greedy = _total(_gains(_greedy(covered, 0.5), covered, 0.5), 3, "log")
        order = max(
            itertools.permutations(covered),
            key=lambda order: _total(_gains(list(order), covered, 0.5), 3, "log"),
        )
        run += [(f"q{i}", doc, float(-place)) for place, doc in enumerate(order)]
        qrels += [
            (f"q{i}", t, doc, grade)
            for t, given in grades.items()
            for doc, grade in given.items()
        ]
        shares[f"q{i}"] = best / greedy
    ranked, judged = frames(run, qrels)
    found = pr.per_query(ranked, "alpha_ndcg@3", qrels=judged, subtopic="subtopic")
    assert dict(found.collect().rows()) == pytest.approx(shares)
    assert min(shares.values()) >= 1 - 1e-12
    assert sum(share > 1 + 1e-9 for share in shares.values()) >= 2


@pytest.mark.parametrize("alpha", [0.3, slow(0.6), slow(0.9)])
def test_equal_gains_tie_whatever_alpha(alpha):
    """A sum of several powers is the same in any order; fractions know."""
    rng = random.Random(7)
    queries = [f"q{q:02}" for q in range(60)]
    qrels = [
        (q, t, f"d{d:02}", 1)
        for q in queries
        for d in range(20)
        for t in "ABCDEFG"
        if rng.random() < 0.6
    ]
    rng.shuffle(qrels)
    run = [(q, f"d{d:02}", float(d)) for q in queries for d in range(20)]
    measure = pr.measure("alpha_ndcg", name="v", alpha=alpha)
    found = ask(measure, run, qrels)["v"].to_list()
    wanted = [
        LOOPS["alpha_ndcg"](docs, grades, alpha=alpha)
        for _, (docs, grades) in sorted(by_query(run, qrels).items())
    ]
    assert found == pytest.approx(wanted, rel=1e-12)


def ask(measures="ap_ia", run=TWO["run"], rows=TWO["qrels"], **options):
    ranked, judged = frames(run, rows)
    options = {"qrels": judged, "subtopic": "subtopic"} | options
    return ranked.rank_eval.per_query(measures, **options).collect()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"subtopic": None}, ValueError, "ap_ia needs subtopics: give judgments"),
        ({"subtopic": None, "qrels": None}, ValueError, "name their column with subt"),
        ({"qrels": None}, ValueError, "subtopic names a column of the judgments"),
        ({"measures": "ndcg@10"}, ValueError, "ndcg needs one grade per document"),
        ({"measures": ["ap_ia", "rr"]}, ValueError, "without subtopic=, .*agg"),
        (
            {"subtopic": "topic"},
            pl.exceptions.ColumnNotFoundError,
            "subtopic column 'topic' is not in the judgments; did you mean 'subtopic'",
        ),
        (
            {"subtopic": pl.col("label") / 2},
            TypeError,
            "'label' of the judgments has dtype Float64, but a subtopic must be an ",
        ),
        ({"subtopic": "label"}, ValueError, "label and subtopic are both column"),
        ({"measures": "alpha_ndcg(alpha=2)"}, ValueError, "alpha must be a number"),
        ({"measures": "nrbp(beta=1)"}, ValueError, "beta must be a number above 0"),
        ({"measures": "nrbp@5"}, ValueError, "nrbp has no cutoff"),
        ({"measures": "alpha_ndgc@5"}, ValueError, "did you mean 'alpha_ndcg'"),
        (
            {"convention": pr.CONVENTIONS["trec_eval"].replace(ties="expected")},
            ValueError,
            "ap_ia has no closed form for ties='expected'",
        ),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        ask(**options)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("q", "A", "b", 1), "duplicate documents within a query"),
        (("q", None, "c", 1), "subtopics are null"),
        (("q", "A", None, 1), "document ids are null"),
        ((None, "A", "b", 1), "query ids are null"),
        (("q", "B", "a", float("nan")), "grades that are NaN or infinite"),
    ],
)
def test_wrong_judgments(row, message):
    for layout in ("any", "auto"):
        with pytest.raises(pr.DataError, match=message):
            ask(rows=[*TWO["qrels"], row], layout=layout)
    ranked, judged = frames(TWO["run"], [*TWO["qrels"], row])
    options = {"qrels": judged, "subtopic": "subtopic"}
    with pytest.raises(pr.DataError, match=message):
        pr.evaluate(ranked.collect(), "ap_ia", **options)
    with pytest.warns(UserWarning, match=message):
        pr.evaluate(ranked.collect(), "ap_ia", check="warn", **options)
    assert pr.evaluate(ranked, "ap_ia", check="off", **options).collect().height == 1


def test_a_document_twice_in_the_run():
    with pytest.raises(pr.DataError, match="duplicate documents within a query"):
        ask(run=[*TWO["run"], ("q", "b", 0.0)])


def test_the_best_copy():
    """One copy a subtopic, not one a document."""
    found = ask(
        run=[*TWO["run"], ("q", "b", 0.0)],
        rows=[*TWO["qrels"], ("q", "B", "b", 0), ("q", "A", "a", 0)],
        on_duplicate="best",
    )
    assert found["ap_ia"].item() == pytest.approx((1 + 1 / 2) / 2)


def test_nothing_relevant():
    qrels = [*TWO["qrels"], ("empty", "A", "a", 0), ("empty", "B", "b", -1)]
    run = [*TWO["run"], ("empty", "a", 1.0)]
    base = pr.CONVENTIONS["trec_eval"]
    for policy, wanted in (("zero", 0.0), ("one", 1.0), ("skip", None), ("null", None)):
        convention = base.replace(no_relevant=policy)
        found = ask(list(SUBTOPIC_METRICS), run, qrels, convention=convention)
        (values,) = found.filter(query_id="empty").drop("query_id").rows(named=True)
        assert values == dict.fromkeys(SUBTOPIC_METRICS, wanted)
    for name in SUBTOPIC_METRICS:
        with pytest.raises(pr.DataError, match=rf"{name} is undefined.*no_relevant="):
            ask(name, run, qrels, convention=base.replace(no_relevant="error"))


def test_missing_queries():
    qrels = [*TWO["qrels"], ("lost", "A", "a", 1)]
    assert ask("st_recall", rows=qrels).rows() == [("lost", 0.0), ("q", 1.0)]
    base = pr.CONVENTIONS["trec_eval"]
    found = ask("st_recall", rows=qrels, convention=base.replace(missing="skip"))
    assert found.rows() == [("q", 1.0)]
    with pytest.raises(pr.DataError, match="judged queries are missing from the run"):
        ask("st_recall", rows=qrels, convention=base.replace(missing="error"))
    queries = pl.DataFrame({"query_id": ["q", "new"]})
    found = ask("st_recall", queries=queries, missing="zero")
    assert found.rows() == [("new", 0.0), ("q", 1.0)]


def test_unjudged_documents_may_be_dropped():
    run = [("q", "x", 9.0), *TWO["run"]]
    condensed = pr.CONVENTIONS["trec_eval"].replace(unjudged="drop")
    assert ask("p_ia@1", run)["p_ia@1"].item() == 0.0
    assert ask("p_ia@1", run, convention=condensed)["p_ia@1"].item() == 0.5


def test_systems_segments_and_weights():
    run, qrels = made_up(6)
    ranked, judged = frames(run, qrels)
    flipped = ranked.with_columns(-pl.col("score"), system=pl.lit("b"))
    both = pl.concat([ranked.with_columns(system=pl.lit("a")), flipped])
    names = ["alpha_ndcg@5", "ap_ia"]
    options = {"qrels": judged, "subtopic": "subtopic"}
    together = pr.per_query(both, names, query=["system", "query_id"], **options)
    for system, alone in (("a", ranked), ("b", flipped.drop("system"))):
        own = together.filter(system=system).drop("system").collect()
        assert own.equals(pr.per_query(alone, names, **options).collect())
    queries = (
        judged.select("query_id")
        .unique()
        .with_columns(
            length=pl.col("query_id").str.tail(1).cast(pl.Int64) % 2,
            weight=pl.col("query_id").str.tail(1).cast(pl.Float64),
        )
    )
    means = pr.evaluate(
        ranked, names, by="length", weight="weight", queries=queries, **options
    ).collect()
    values = pr.per_query(ranked, names, **options).join(queries, on="query_id")
    for row in values.collect().partition_by("length"):
        weight = row["weight"]
        wanted = [(row[name] * weight).sum() / weight.sum() for name in names]
        (found,) = means.filter(length=row["length"][0]).select(names).rows()
        assert found == pytest.approx(wanted)


def test_a_measure_of_ones_own():
    mine = {
        "worst subtopic gets": lambda s: s.mean(s.each.hits_at(1)),
        "subtopics": lambda s: s.judged_count(),
    }
    found = ask(["ap_ia", mine])
    assert found.row(0)[2:] == (0.5, 2.0)


def test_assessors():
    """A mean over those who judged, also those who found nothing."""
    qrels = [*TWO["qrels"], ("q", "C", "a", 0)]
    assert ask(["map_avgjg", "P_avgjg_2"], rows=qrels).row(0)[1:] == (
        pytest.approx((1 + 1 / 2 + 0) / 3),
        pytest.approx((1 + 1 / 2 + 0) / 3),
    )


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("alpha_nDCG(alpha=0.5)@20", "alpha_ndcg(alpha=0.5)@20"),
        ("alpha-DCG@5", "alpha_dcg@5"),
        ("ERR_IA@20", "err_ia@20"),
        ("nERR-IA@5", "nerr_ia@5"),
        ("NRBP(alpha=0.2,beta=0.9)", "nrbp(alpha=0.2, beta=0.9)"),
        ("nNRBP", "nnrbp"),
        ("P_IA(rel=2)@10", "p_ia(rel=2)@10"),
        ("AP_IA", "ap_ia"),
        ("MAP-IA", "ap_ia"),
        ("StRecall@10", "st_recall@10"),
        ("strec_10", "st_recall@10"),
        ("P_avgjg_5", "p_ia(empty=zero)@5"),
    ],
)
def test_text(text, own):
    found = pr.Measure.parse(text)
    assert str(found) == own
    assert found == pr.Measure.parse(own)
    assert found.name == text


def test_a_false_claim_about_the_layout():
    run = [("q", "a", 2.0), ("p", "a", 1.0), ("q", "b", 1.0)]
    with pytest.raises(pr.DataError, match="are not contiguous"):
        ask(run=run, layout="contiguous")
    assert ask(run=run).row(0)[1] == pytest.approx((1 + 1 / 2) / 2)


def test_the_command(tmp_path, capsys):
    """TREC text keeps the subtopic where others have an iteration."""
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("q Q0 a 1 2.0 me\nq Q0 b 2 1.0 me\n")
    qrels.write_text("q A a 1\nq A b 1\nq B b 1\n")
    options = ["--subtopic", "iteration", "-m", "P_IA@2", "--format", "csv"]
    assert main(["evaluate", str(run), str(qrels), *options]) == 0
    assert capsys.readouterr().out.splitlines() == ["queries,P_IA@2", "1,0.75"]
