"""``on_duplicate="keep_rank"``: the first copy counts, the others keep their ranks."""

from __future__ import annotations

import random
from math import log2

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from reference import METRICS, Doc

import polars_rank as pr

RUN = pl.DataFrame({"query_id": 1, "doc_id": list("AABC"), "score": [4, 3, 2, 1]})
QRELS = pl.DataFrame({"query_id": 1, "doc_id": ["A", "C"], "label": 1})
LOG = RUN.join(QRELS, on=["query_id", "doc_id"], how="left", maintain_order="left")
KEEP = {"on_duplicate": "keep_rank"}
MEASURES = {  # and the loops that compute them
    "ndcg@3": lambda docs: METRICS["ndcg"](docs, k=3),
    "ap": METRICS["ap"],
    "rr": METRICS["rr"],
    "precision@5": lambda docs: METRICS["precision"](docs, k=5),
    "recall@5": lambda docs: METRICS["recall"](docs, k=5),
    "bpref": METRICS["bpref"],
    "judged@5": lambda docs: METRICS["judged"](docs, k=5),
    "num_ret": METRICS["num_ret"],
    "num_rel": METRICS["num_rel"],
}


@pytest.fixture(params=["frame", "lazy"])
def call(request, collect):
    """Evaluate frames as they are, or lazily."""

    def call(function, frame, measures, **options):
        if request.param == "frame":
            return function(frame, measures, **options)
        lazy = {n: v.lazy() for n, v in options.items() if isinstance(v, pl.DataFrame)}
        return collect(function(frame.lazy(), measures, **options | lazy))

    return call


def by_hand(call, frame, **options):
    measures = ["ndcg", "recall@2", "precision@4", "num_ret", "num_rel"]
    return call(pr.per_query, frame, measures, **options).row(0)


def test_a_list_by_hand(call):
    """The second A keeps rank 2: C gains at rank 4, not at rank 3."""
    ideal = 1 + 1 / log2(3)
    kept = (1, pytest.approx((1 + 1 / log2(5)) / ideal), 1 / 2, 2 / 4, 4, 2)
    best = (1, pytest.approx((1 + 1 / log2(4)) / ideal), 1 / 2, 2 / 4, 3, 2)
    for frame, options in ((LOG, {}), (RUN, {"qrels": QRELS})):
        assert by_hand(call, frame, **KEEP, **options) == kept
        assert by_hand(call, frame, on_duplicate="best", **options) == best


def data(seed: int, *, judged: bool):
    """Rows with copies and ties; grades of some, of unretrieved documents, too."""
    draw = random.Random(seed)
    run, qrels = [], []
    for query in range(25):
        docs = [draw.randint(5, 14) for _ in range(draw.randint(1, 14))]
        run += [(query, doc, float(draw.randint(0, 5))) for doc in docs]
        pool = range(4, 16) if judged else sorted({*docs})
        qrels += [(query, d, draw.randint(0, 3)) for d in pool if draw.random() < 0.6]
    draw.shuffle(run)
    names = ["query_id", "doc_id"]
    return (
        pl.DataFrame(run, [*names, "score"], orient="row"),
        pl.DataFrame(qrels, [*names, "label"], orient="row"),
    )


def lists(run, qrels, ties, *, ranked=False):
    """The documents of each query in order; later copies as unjudged documents."""
    grades: dict[int, dict[int, int]] = {}
    for query, doc, grade in qrels.iter_rows():
        grades.setdefault(query, {})[doc] = grade
    rows: dict[int, list] = {}
    for i, (query, doc, score) in enumerate(run.iter_rows()):
        rows.setdefault(query, []).append((score, str(doc), doc, i))
    for query, own in grades.items():
        found = rows.get(query, [])
        if ties != "order":  # of equal ids, the first row stays first
            found.sort(key=lambda row: row[1], reverse=ties == "doc_desc")
        found.sort(key=lambda row: row[0], reverse=not ranked)
        seen, docs = set(), []
        for place, (_, text, doc, i) in enumerate(found):
            first = doc not in seen
            seen.add(doc)
            grade = own.get(doc) if first else None
            name = text if first else f"copy {i}"
            docs.append(Doc(name, -float(place), None if grade is None else grade))
        docs += [Doc(str(d), None, g) for d, g in own.items() if d not in seen]
        yield query, docs


def expected(run, qrels, ties, **options):
    values = [
        (query, *(loop(docs) for loop in MEASURES.values()))
        for query, docs in lists(run, qrels, ties, **options)
    ]
    names = ["query_id", *MEASURES]
    return pl.DataFrame(values, names, orient="row", strict=False).sort("query_id")


IDS = {
    "integers": pl.col("doc_id"),
    "text": pl.col("doc_id").cast(pl.String),
    "categories": pl.col("doc_id").cast(pl.String).cast(pl.Categorical),
    "bytes": pl.col("doc_id").cast(pl.String).cast(pl.Binary),
}


@pytest.mark.covering(2, rest=3)
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "order"])
@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
@pytest.mark.parametrize("options", [{}, {"memory_limit": "1GB"}], ids=str)
def test_copies_equal_plain_loops(ids, ties, judged, layout, options, collect):
    run, qrels = data(len(ids) + len(ties), judged=judged)
    wanted = expected(run, qrels, ties)
    if layout == "contiguous":
        run = run.sort("query_id", maintain_order=True)
    if judged:
        options = options | {"qrels": qrels.with_columns(IDS[ids]).lazy()}
    else:
        on = ["query_id", "doc_id"]
        run = run.join(qrels, on=on, how="left", maintain_order="left")
        run = run.filter(pl.col("query_id").is_in(wanted["query_id"].implode()))
    frame = run.with_columns(IDS[ids])
    asked = dict(ties=ties, layout=layout, missing="zero", **KEEP, **options)
    found = collect(pr.per_query(frame.lazy(), [*MEASURES], **asked))
    assert_frame_equal(found, wanted, check_dtypes=False, abs_tol=1e-12)
    if not judged and "memory_limit" not in options:
        found = pr.per_query(frame, [*MEASURES], **asked)
        assert_frame_equal(found, wanted, check_dtypes=False, abs_tol=1e-12)


@pytest.mark.parametrize("judged", [True, False])
def test_copies_with_known_ranks(call, judged):
    run, qrels = data(3, judged=judged)
    ranks = pl.int_range(pl.len()).shuffle(1).over("query_id") + 1
    run = run.select("query_id", "doc_id", rank=ranks)
    wanted = expected(run, qrels, "order", ranked=True)
    options = {"qrels": qrels} if judged else {}
    if not judged:
        on = ["query_id", "doc_id"]
        run = run.join(qrels, on=on, how="left", maintain_order="left")
        run = run.filter(pl.col("query_id").is_in(wanted["query_id"].implode()))
    found = call(pr.per_query, run, [*MEASURES], rank="rank", **KEEP, **options)
    assert_frame_equal(found, wanted, check_dtypes=False, abs_tol=1e-12)


def test_copies_among_judgments_are_one_with_the_best_label(call):
    twice = pl.concat([QRELS, QRELS.head(1).with_columns(label=pl.lit(3))])
    found = call(pr.per_query, RUN, ["cg", "num_rel"], qrels=twice, **KEEP)
    assert found.row(0) == (1, 3 + 1, 2)


def test_copies_that_are_equal_as_float32(call):
    """The first row is the first copy, since the tool sees no difference."""
    convention = pr.CONVENTIONS["trec_eval_9"].replace(ties="order", **KEEP)
    run = RUN.with_columns(score=pl.Series([1.0, 1 + 2**-40, 2.0, 0.0]))
    labels = pl.Series([1, 0, 0, 0])
    log = run.with_columns(label=labels)
    assert call(pr.per_query, log, "rr", convention=convention)["rr"].item() == 1 / 2


def test_copies_below_max_rank_and_of_subtopics(call):
    found = call(pr.per_query, RUN, "num_rel_ret", qrels=QRELS, max_rank=2, **KEEP)
    assert found["num_rel_ret"].item() == 1
    judged = QRELS.with_columns(subtopic=pl.Series(["x", "x"]))
    options = {"qrels": judged, "subtopic": "subtopic", **KEEP}
    found = call(pr.per_query, RUN, "alpha_ndcg(alpha=0)", **options)
    ideal = 1 + 1 / log2(3)
    assert found.row(0)[1] == pytest.approx((1 + 1 / log2(5)) / ideal)


def test_what_keep_rank_refuses(call):
    for ties in ("expected", "optimistic", "pessimistic"):
        with pytest.raises(ValueError, match="needs a first copy among equal scores"):
            call(pr.per_query, RUN, "rr", qrels=QRELS, ties=ties, **KEEP)
    with pytest.raises(ValueError, match="doc must name the column"):
        call(pr.per_query, LOG, "rr", doc=None, **KEEP)
    nameless = RUN.with_columns(doc_id=pl.Series(["A", None, None, "C"]))
    with pytest.raises(pr.DataError, match="document ids are null"):
        call(pr.per_query, nameless, "rr", qrels=QRELS, **KEEP)
    with pytest.warns(pr.DataWarning, match="has no rows"):
        empty = call(pr.evaluate, LOG.clear(), "rr", **KEEP)
    assert empty["queries"].item() == 0


def closed_by_hand(rows):
    """Keep the best rank of each document; close the ranks that only copies had."""
    best = {}
    for query, doc, rank, label in rows:
        ranks, labels = best.setdefault((query, doc), ([], []))
        ranks.append(rank)
        labels.append(label)
    kept = {key: (min(ranks), max(labels)) for key, (ranks, labels) in best.items()}
    left = {(query, rank) for (query, _), (rank, _) in kept.items()}
    empty = {(query, rank) for query, _, rank, _ in rows} - left
    return [
        (query, doc, rank - sum(q == query and r < rank for q, r in empty), label)
        for (query, doc), (rank, label) in kept.items()
    ]


@pytest.mark.parametrize("layout", ["any", "contiguous"])
@pytest.mark.parametrize("seed", range(3))
def test_best_closes_the_places_of_copies(call, seed, layout):
    """Gaps among ranks are the user's and stay; those of copies are closed."""
    draw = random.Random(seed)
    rows = []
    for query in range(20):
        ranks = sorted(draw.sample(range(1, 30), draw.randint(1, 12)))
        rows += [(query, draw.randint(0, 8), r, draw.randint(0, 3)) for r in ranks]
    names = ["query_id", "doc_id", "rank", "label"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    closed = pl.DataFrame(closed_by_hand(rows), schema=names, orient="row")
    options = {"rank": "rank", "layout": layout}
    found = call(pr.per_query, frame, list(MEASURES), on_duplicate="best", **options)
    expected = pr.per_query(closed, list(MEASURES), **options)
    assert_frame_equal(found, expected, check_row_order=False, check_exact=True)


def test_lists_without_copies_are_what_best_leaves():
    judged = {1: {"A", "C"}}
    measures = ["ndcg", "ap", "rr", "precision@2"]
    with_copies = pr.evaluate(
        {1: list("AABC")}, measures, qrels=judged, on_duplicate="best"
    )
    assert_frame_equal(
        with_copies, pr.evaluate({1: list("ABC")}, measures, qrels=judged)
    )
