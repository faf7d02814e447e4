"""Frames of any library, files, dictionaries; columns as expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from slow import slow

import polars_rank as pr

LOG = pl.DataFrame(
    {
        "query_id": ["a", "a", "a", "b", "b", "c"],
        "doc_id": ["x", "y", "z", "x", "w", "y"],
        "score": [0.9, 0.5, 0.3, 0.8, 0.7, 0.1],
        "label": [1, 0, 3, 0, 2, 0],
        "country": ["DE", "DE", "DE", "FR", "FR", "DE"],
        "traffic": [1, 1, 1, 3, 3, 5],
    }
)
RUN = LOG.select("query_id", "doc_id", "score")
QRELS = LOG.select("query_id", "doc_id", "label")
MEASURES = ["ndcg@10", "ap", "rr"]


@dataclass
class Capsule:
    """What has the Arrow C stream and nothing else."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.to_arrow().__arrow_c_stream__(requested_schema)


def dataset(frame: pl.DataFrame) -> pyarrow.dataset.Dataset:
    return pyarrow.dataset.dataset(frame.to_arrow())


def nested(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for query, doc, value in frame.rows():
        rows.setdefault(query, {})[doc] = value
    return rows


WAYS = {
    "table": lambda frame: frame.to_arrow(),
    "batch": lambda frame: frame.to_arrow().combine_chunks().to_batches()[0],
    "reader": lambda frame: frame.to_arrow().to_reader(max_chunksize=2),
    "capsule": Capsule,
    "dataset": dataset,
    "scanner": lambda frame: dataset(frame).scanner(),
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "auto": {},
    "contiguous": {"layout": "contiguous"},
    "bounded": {"memory_limit": "1GB"},
}


@pytest.mark.parametrize(
    ("way", "layout"),
    [
        turn if (i + j) % 2 else slow(*turn)
        for i, way in enumerate(WAYS)
        for j, layout in enumerate(LAYOUTS)
        for turn in [(way, layout)]
    ],
)
def test_any_frame_gives_what_a_frame_of_polars_gives(way, layout):
    way, options = WAYS[way], LAYOUTS[layout]
    expected = pr.evaluate(LOG, MEASURES)
    found = pr.evaluate(way(LOG), MEASURES, **options)
    assert isinstance(found, pl.DataFrame)
    assert found.equals(expected)
    by_query = pr.per_query(way(RUN), MEASURES, qrels=way(QRELS), **options)
    assert by_query.equals(pr.per_query(RUN, MEASURES, qrels=QRELS))
    lazily = pr.evaluate(RUN.lazy(), MEASURES, qrels=way(QRELS), **options)
    assert isinstance(lazily, pl.LazyFrame)
    assert lazily.collect().equals(expected)


@pytest.mark.parametrize("way", [*WAYS.values(), nested], ids=[*WAYS, "dictionary"])
def test_every_function_takes_them(way):
    assert pr.match_report(way(RUN), way(QRELS)).equals(pr.match_report(RUN, QRELS))
    found = pr.preferences(way(RUN), way(QRELS))
    assert found.equals(pr.preferences(RUN, QRELS))
    assert pr.evaluate(way(RUN), MEASURES, qrels=way(QRELS)).equals(
        pr.evaluate(RUN, MEASURES, qrels=QRELS)
    )


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_tables_about_queries(way):
    about = LOG.select("query_id", "country", "traffic").unique(maintain_order=True)
    bare = LOG.drop("country", "traffic")
    options = {"by": "country", "weight": "traffic"}
    expected = pr.evaluate(LOG, MEASURES, **options)
    assert pr.evaluate(bare, MEASURES, segments=way(about), **options).equals(expected)
    assert pr.evaluate(bare, MEASURES, queries=way(about), **options).equals(expected)


def test_a_dictionary_about_queries():
    about = {"a": {"country": "DE"}, "b": {"country": None}}
    found = pr.evaluate(RUN, "rr", qrels=QRELS, segments=about, by="country")
    assert found.rows() == [(None, 2, 0.25), ("DE", 1, 1.0)]


def test_dictionaries():
    run = {"q1": {"d1": 0.5, "d2": 0.25}, "q2": {"d3": 1.0}, "q3": {}}
    qrels = {"q1": {"d2": 1}, "q2": {"d4": 2}, "q3": {"d1": 1}}
    found = pr.per_query(run, ["rr"], qrels=qrels)
    assert found.rows() == [("q1", 0.5), ("q2", 0.0), ("q3", 0.0)]
    mixed = pr.per_query({"q1": {"d1": 1, "d2": 2.5}}, ["rr"], qrels=qrels)
    assert mixed.rows() == [("q1", 1.0), ("q2", 0.0), ("q3", 0.0)]
    distance = {"score": "distance", "descending": False}
    assert pr.per_query(run, ["rr"], qrels=qrels, **distance)["rr"].to_list() == [
        1,
        0,
        0,
    ]


@pytest.mark.slow
def test_dictionaries_of_systems():
    """Runs by name, and judgments, where several systems are looked at."""
    other = RUN.with_columns(score=-pl.col("score"))
    runs, judged = {"A": nested(RUN), "B": nested(other)}, nested(QRELS)
    frame = pl.concat(
        [RUN.with_columns(system=pl.lit("A")), other.with_columns(system=pl.lit("B"))]
    )
    for function in (pr.bounds, pr.audit):
        one = function(nested(RUN), "ndcg", qrels=judged)
        of_runs = function(runs, "ndcg", qrels=judged)
        whole = function(frame, "ndcg", qrels=QRELS, system="system")
        assert str(one) == str(function(RUN, "ndcg", qrels=QRELS))
        assert str(of_runs) == str(whole)
    found = pr.compare(runs, measures="rr", qrels=judged)
    assert found.means.equals(pr.compare(frame, measures="rr", qrels=QRELS).means)
    assert found.means.equals(pr.compare(frame, measures="rr", qrels=judged).means)


@pytest.mark.parametrize("ids", [pl.Int64, pl.String])
def test_empty_dictionaries_have_ids_of_any_type(ids):
    run, qrels = (
        frame.select(pl.lit(1, ids).alias("query_id"), pl.exclude("query_id"))
        for frame in (RUN.head(1), QRELS.head(1))
    )
    with pytest.raises(pr.DataError, match="no judged query is in the run: the run is"):
        pr.per_query({}, "rr", qrels=qrels)
    found = pr.per_query(run, "rr", qrels={})
    assert found.schema == {"query_id": ids, "rr": pl.Float64}
    assert found.is_empty()


def test_dictionaries_that_are_none():
    with pytest.raises(ValueError, match="query= names several columns"):
        pr.evaluate({"a": {"x": 1}}, "rr", qrels=QRELS, query=["system", "query_id"])


def foreign(module: str, name: str) -> object:
    """What looks like a frame of a library that spreads over processes."""
    methods = {"__module__": module, "__arrow_c_stream__": lambda self: None}
    return type(name, (), methods)()


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (
            "pyspark.sql.classic.dataframe",
            "DataFrame",
            "Spark DataFrame.*rank.spark has.*write.parq",
        ),
        ("ray.data.dataset", "Dataset", "polars_rank.ray has.*write_parquet"),
        ("dask.dataframe.dask_expr", "DataFrame", "polars_rank.dask has.*to_parq"),
        ("modin.pandas.dataframe", "DataFrame", r"\.modin\.to_pandas\(\)"),
    ],
)
def test_frames_of_many_processes_are_refused_by_name(module, name, message):
    with pytest.raises(TypeError, match=message):
        pr.evaluate(foreign(module, name), "rr")
    with pytest.raises(TypeError, match=message):
        pr.evaluate(RUN, "rr", qrels=foreign(module, name))


class Indexed:
    """What looks like a pandas frame whose index has names."""

    def __init__(self, rows: pl.DataFrame, *names: str):
        self.index = type("Index", (), {"names": names})()
        self.rows = rows.drop(names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("lost", ["query_id", "doc_id", "score"])
def test_a_column_in_the_index_of_pandas_is_refused(lost):
    """Rows without their documents would tie-break otherwise, and say nothing."""
    message = f"the first argument, a Indexed, has '{lost}' in its index.*reset_index"
    with pytest.raises(TypeError, match=message):
        pr.evaluate(Indexed(RUN, lost), "rr", qrels=QRELS)
    with pytest.raises(TypeError, match=r"the judgments, .*'doc_id' in its index"):
        pr.evaluate(RUN, "rr", qrels=Indexed(QRELS, "doc_id"))
    numbered = RUN.with_columns(row=pl.row_index())
    assert pr.evaluate(Indexed(numbered, "row"), "rr", qrels=QRELS).height == 1


def test_what_is_no_frame():
    with pytest.raises(
        TypeError, match=r"a path, rows .*, or a dictionary .*, not list; wrap it"
    ):
        pr.evaluate([1, 2], "rr")


def batches(frame: pl.DataFrame, size: int = 2) -> list[pa.RecordBatch]:
    return frame.to_arrow().to_batches(max_chunksize=size)


@pytest.mark.parametrize(
    "make",
    [
        batches,
        lambda frame: iter(batches(frame)),
        lambda frame: (part for part in frame.iter_slices(2)),
    ],
    ids=["list", "batches", "Polars frames"],
)
@pytest.mark.parametrize("options", [{}, {"layout": "contiguous"}, {"layout": "any"}])
def test_batches_that_python_makes_one_by_one(make, options):
    whole = pr.evaluate(LOG, MEASURES)
    assert pr.evaluate(make(LOG), MEASURES, **options).equals(whole)
    judged = pr.evaluate(make(RUN), MEASURES, qrels=make(QRELS), **options)
    assert judged.equals(whole)
    limited = pr.evaluate(make(LOG), MEASURES, memory_limit="1GB", **options)
    assert limited.equals(whole)


def test_batches_are_made_once():
    rows = pl.DataFrame({"query_id": range(400)}).with_columns(score=1.0, label=1)
    made = []

    def batches():
        for part in rows.iter_slices(10):
            made.append(len(part))
            yield part.to_arrow()

    for options in LAYOUTS.values():
        made.clear()
        assert pr.evaluate(batches(), "rr", **options).row(0) == (400, 1.0)
        assert len(made) == 40


def test_batches_that_are_not_alike():
    other = pa.RecordBatch.from_pydict({"query_id": ["d"], "score": [1], "label": [0]})
    for options in ({}, {"layout": "contiguous"}):
        with pytest.raises(TypeError, match=r"batch 3 are .*score \(Int64\).* alike"):
            pr.evaluate(
                [*batches(LOG[["query_id", "score", "label"]]), other], "rr", **options
            )
    with pytest.raises(TypeError, match="first argument yields no batch"):
        pr.evaluate(iter([]), "rr")


def test_a_column_that_arrow_has_no_type_for():
    @dataclass
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise pa.ArrowInvalid("mixed types in column 'doc_id'")

    with pytest.raises(
        TypeError, match="the judgments, a Broken, cannot be read as Arr"
    ):
        pr.evaluate(RUN, "rr", qrels=Broken())


def test_a_stream_is_read_once_and_in_batches():
    """Neither a second time, nor into one piece of memory before the first batch."""
    counts = {"opened": 0, "batches": 0, "all": 0}
    rows = pl.DataFrame({"query_id": range(400)}).with_columns(score=1.0, label=1)

    class Source:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            counts["opened"] += 1
            table = rows.to_arrow()

            def batches():
                for batch in table.to_batches(max_chunksize=10):
                    counts["batches"] += 1
                    yield batch

            reader = pa.RecordBatchReader.from_batches(table.schema, batches())
            return reader.__arrow_c_stream__(requested_schema)

    for options in LAYOUTS.values():
        counts |= {"opened": 0, "batches": 0}
        assert pr.evaluate(Source(), "rr", **options).row(0) == (400, 1.0)
        assert counts == {"opened": 1, "batches": 40, "all": 0}


def test_a_dataset_reads_the_columns_it_needs():
    whole = LOG.with_columns(heavy=pl.lit("x"))
    asked = []

    class Dataset:
        __module__ = "pyarrow.dataset"
        schema = whole.to_arrow().schema
        scanner = None

        def to_batches(self, *, columns, **_):
            asked.append(set(columns))
            return dataset(whole).to_batches(columns=columns)

    assert pr.evaluate(Dataset(), MEASURES).equals(pr.evaluate(LOG, MEASURES))
    assert asked
    assert all(columns <= {*RUN.columns, "label"} for columns in asked)


# -- paths


def test_paths(tmp_path):
    LOG.write_parquet(tmp_path / "log.parquet")
    expected = pr.evaluate(LOG, MEASURES)
    for path in (tmp_path / "log.parquet", str(tmp_path / "*.parquet")):
        found = pr.evaluate(path, MEASURES)
        assert isinstance(found, pl.DataFrame)
        assert found.equals(expected)


def test_paths_of_a_run_and_judgments(tmp_path):
    """Ids in text have no type: they equal the integers of a frame."""
    run, qrels = tmp_path / "bm25.run", tmp_path / "qrels.txt"
    run.write_text("1 Q0 10 1 0.9 a\n1 Q0 20 2 0.8 a\n2 Q0 10 1 0.7 a\n")
    qrels.write_text("1 0 20 1\n2 0 10 1\n")
    expected = [("1", 0.5), ("2", 1.0)]
    assert pr.per_query(run, ["rr"], qrels=qrels).rows() == expected
    frame = pl.DataFrame({"query_id": [1, 2], "doc_id": [20, 10], "label": [1, 1]})
    assert pr.per_query(run, ["rr"], qrels=frame).rows() == expected
    frame.write_csv(tmp_path / "qrels.csv")
    assert pr.per_query(run, ["rr"], qrels=tmp_path / "qrels.csv").rows() == expected
    frame.write_parquet(tmp_path / "qrels.parquet")
    folder = tmp_path / "folder"
    folder.mkdir()
    frame.write_csv(folder / "part.csv")
    integers = pl.DataFrame({"query_id": [1], "doc_id": [20], "score": [0.5]})
    assert pr.per_query(integers, ["rr"], qrels=folder)["rr"].to_list() == [1.0, 0.0]
    texts = integers.cast({"query_id": pl.String})
    with pytest.raises(TypeError, match="'query_id' is String in the run but Int64"):
        pr.per_query(texts, ["rr"], qrels=tmp_path / "qrels.parquet")


# -- expressions


def by_hand(frame: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """The same with the columns computed beforehand."""
    return pr.evaluate(frame, MEASURES, **options)


def test_expressions():
    given = LOG.select(
        session=pl.col("query_id") + "-1",
        distance=-pl.col("score"),
        clicks=pl.col("label"),
        country="country",
        traffic="traffic",
        doc_id="doc_id",
    )
    found = pr.evaluate(
        given,
        MEASURES,
        query=pl.col("session").str.head(1),
        score=-pl.col("distance"),
        label=pl.col("clicks") > 0,
        by=pl.col("country").str.to_lowercase(),
        weight=pl.col("traffic") / 10,
    )
    computed = LOG.with_columns(
        label=(pl.col("label") > 0).cast(pl.Int8),
        country=pl.col("country").str.to_lowercase(),
        traffic=pl.col("traffic") / 10,
    )
    expected = pr.evaluate(computed, MEASURES, by="country", weight="traffic")
    assert found.equals(expected)


def test_expressions_in_a_run_and_judgments():
    run = RUN.with_columns(query_id="q" + pl.col("query_id"))
    qrels = QRELS.with_columns(query_id="q" + pl.col("query_id"))
    query, doc = pl.col("query_id").str.slice(1), pl.col("doc_id").str.to_uppercase()
    found = pr.per_query(run, MEASURES, qrels=qrels, query=query, doc=doc)
    assert found.equals(pr.per_query(RUN, MEASURES, qrels=QRELS))
    name = query.alias("topic")
    assert pr.per_query(run, "rr", qrels=qrels, query=name).columns == ["topic", "rr"]
    report = pr.match_report(run, qrels, query=query)
    assert report.equals(pr.match_report(RUN, QRELS))


def test_expressions_name_what_they_lack():
    for role in ("score", "label", "query", "by", "weight"):
        with pytest.raises(
            pl.exceptions.ColumnNotFoundError, match=f"{role} column 'scoer' is not in"
        ):
            pr.evaluate(LOG, "rr", **{role: pl.col("scoer") + 1})
    with pytest.raises(TypeError, match="a score must be a numeric column"):
        pr.evaluate(LOG, "rr", score=pl.col("doc_id") + "x")


def test_every_judgment_is_relevant():
    liked = LOG.filter(pl.col("label") > 0).select("query_id", "doc_id")
    expected = pr.per_query(RUN, MEASURES, qrels=liked.with_columns(label=1))
    assert pr.per_query(RUN, MEASURES, qrels=liked, label=None).equals(expected)
    with pytest.raises(ValueError, match="label=None is for judgments"):
        pr.evaluate(LOG, "rr", label=None)


@pytest.mark.parametrize(
    "dtype", [pl.Float64, pl.Float32, pl.UInt8, pl.Int8, pl.Int64, pl.UInt64], ids=str
)
def test_lower_is_better(dtype):
    """Smallest first, the smallest and the largest of the type among them."""
    if dtype.is_integer():
        least, most = pl.select(dtype.min(), dtype.max().alias("most")).row(0)
    else:
        least, most = -1.5, 2.5
    distance = pl.Series("score", [most, least, 1], dtype=dtype)
    log = pl.DataFrame({"query_id": 1, "label": [0, 1, 0]}).with_columns(distance)
    assert pr.evaluate(log, "rr", descending=False)["rr"].item() == 1.0
    assert pr.evaluate(log, "rr")["rr"].item() == pytest.approx(1 / 3)
    for layout in ("any", "contiguous"):
        found = pr.evaluate(log.lazy(), "rr", descending=False, layout=layout)
        assert found.collect()["rr"].item() == 1.0
    with pytest.raises(ValueError, match="descending=False is for scores"):
        pr.evaluate(log, "rr", rank="score", descending=False)


def test_lower_is_better_for_duplicates_and_preferences():
    run = pl.DataFrame(
        {"query_id": 1, "doc_id": ["a", "a", "b"], "score": [9.0, 1.0, 2.0]}
    )
    qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 0]})
    options = {"descending": False, "qrels": qrels}
    best = pr.evaluate(run, "rr", on_duplicate="best", **options)
    assert best["rr"].item() == 1.0
    found = pr.preferences(run[1:], qrels, descending=False)
    assert found["satisfied"].item() == 1.0


# -- names


def test_other_names_in_the_judgments():
    qrels = QRELS.rename({"query_id": "query-id", "doc_id": "corpus-id"})
    names = {"qrels_query": "query-id", "qrels_doc": "corpus-id"}
    expected = pr.per_query(RUN, MEASURES, qrels=QRELS)
    assert pr.per_query(RUN, MEASURES, qrels=qrels, **names).equals(expected)
    for function in (pr.match_report, pr.preferences):
        assert function(RUN, qrels, **names).equals(function(RUN, QRELS))
    both = pl.concat([RUN.with_columns(system=pl.lit(name)) for name in "ab"])
    found = pr.per_query(
        both,
        MEASURES,
        qrels=qrels,
        query=["system", "query_id"],
        qrels_query=["system", "query-id"],
        qrels_doc="corpus-id",
    )
    assert found.drop("system").equals(pl.concat([expected, expected]))
    with pytest.raises(ValueError, match="qrels_query must name as many columns"):
        pr.per_query(both, "rr", qrels=qrels, query=["system", "query_id"], **names)


# -- what is known of queries


def test_segments_only_describe():
    """A table of all users leaves the set of queries alone; queries= fixes it."""
    users = pl.DataFrame({"query_id": ["a", "b", "z"], "country": ["DE", "FR", "US"]})
    bare = LOG.drop("country")
    found = pr.evaluate(bare, "rr", segments=users, by="country")
    assert found.rows() == [(None, 1, 0.0), ("DE", 1, 1.0), ("FR", 1, 0.5)]
    with pytest.warns(pr.DataWarning, match="1 of the 3 queries in queries= has no"):
        fixed = pr.evaluate(bare, "rr", queries=users, by="country")
    assert fixed.rows() == [("DE", 1, 1.0), ("FR", 1, 0.5), ("US", 1, 0.0)]
    both = pr.evaluate(bare, "rr", queries=QRELS["query_id"].unique(), segments=users)
    assert both["queries"].item() == 3


def test_queries_that_nobody_judged_are_reported():
    asked = pl.DataFrame({"query_id": ["a", "b", "z", "y"]})
    options = {"qrels": QRELS, "queries": asked}
    with pytest.warns(pr.DataWarning, match="2 of the 4 queries in queries= have no"):
        found = pr.evaluate(RUN, "rr", **options)
    assert pr.evaluate(RUN, "rr", missing="zero", **options).equals(found)
    assert pr.evaluate(RUN, "rr", check="off", **options).equals(found)


def test_segments_have_one_row_per_query():
    twice = pl.DataFrame({"query_id": ["a", "a"], "country": ["DE", "DE"]})
    with pytest.raises(pr.DataError, match="segments= has more than one row per query"):
        pr.evaluate(LOG.drop("country"), "rr", segments=twice, by="country")
    found = pr.evaluate(
        LOG.drop("country"), "rr", segments=twice, by="country", check="off"
    )
    assert found["queries"].to_list() == [2, 1]


@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
def test_segments_and_weights_of_the_judgments(options):
    about = LOG.select("query_id", "doc_id", "label", "country", "traffic")
    found = pr.evaluate(
        RUN.lazy(), MEASURES, qrels=about, by="country", weight="traffic", **options
    ).collect()
    assert found.equals(pr.evaluate(LOG, MEASURES, by="country", weight="traffic"))


@pytest.mark.parametrize("options", [*LAYOUTS.values(), {"layout": "any"}], ids=str)
def test_judgments_that_describe_queries_are_read_twice(options):
    """As a stream they give the right number or an error."""
    about = pl.scan_arrow_c_stream(LOG.to_arrow().to_reader())
    result = lambda: pr.evaluate(  # noqa: E731
        RUN.lazy(), MEASURES, qrels=about, by="country", **options
    ).collect()
    if options == {"layout": "any"}:
        assert result().equals(pr.evaluate(LOG, MEASURES, by="country"))
        return
    with pytest.raises(pr.DataError, match="can be read only once"):
        result()


def test_segments_of_the_judgments_are_constant():
    varying = LOG.with_columns(country=pl.Series(["DE", "FR", "DE", "FR", "FR", "DE"]))
    with pytest.raises(pr.DataError, match="varies within a query"):
        pr.evaluate(RUN, "rr", qrels=varying, by="country")


def test_columns_to_keep():
    found = pr.per_query(LOG, ["rr"], keep=["country", pl.col("traffic") * 2])
    assert found.rows() == [
        ("a", "DE", 2, 1.0),
        ("b", "FR", 6, 0.5),
        ("c", "DE", 10, 0),
    ]
    about = LOG.select("query_id", "country").unique()
    joined = pr.per_query(RUN, ["rr"], qrels=QRELS, segments=about, keep="country")
    assert joined.rows() == [("a", "DE", 1.0), ("b", "FR", 0.5), ("c", "DE", 0.0)]
    assert pr.per_query(RUN, ["rr"], qrels=LOG, keep="country").equals(joined)
    with pytest.raises(pr.DataError, match="keep= column varies"):
        pr.per_query(LOG, ["rr"], keep="doc_id")
    with pytest.raises(
        ValueError, match="two output columns would be called 'query_id"
    ):
        pr.per_query(LOG, ["rr"], keep="query_id")
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError,
        match=re.escape("keep column 'contry' is not in"),
    ):
        pr.per_query(LOG, ["rr"], keep="contry")


# -- lists and groups


def test_lists_in_cells():
    lists = pl.DataFrame(
        {
            "query_id": ["a", "b", "c", "d"],
            "retrieved": [["x", "y"], ["z"], [], None],
            "relevant": [["y"], ["x", "z"], ["x"], None],
            "scores": [[0.5, 0.4], [1.0], [], None],
            "grades": [[2], [1, 3], [1], None],
        }
    )
    run, qrels = pr.from_lists(lists.lazy())
    assert isinstance(run, pl.LazyFrame)
    assert run.collect().rows() == [("a", "x", 1), ("a", "y", 2), ("b", "z", 1)]
    judged = [("a", "y", 1), ("b", "x", 1), ("b", "z", 1), ("c", "x", 1)]
    with pytest.warns(pr.DataWarning, match="1 of 4 queries is left"):
        assert qrels.collect().rows() == judged
    with pytest.warns(pr.DataWarning, match="1 of 4 queries is left"):
        found = pr.per_query(
            run, ["rr", "recall@5"], qrels=qrels, rank="rank"
        ).collect()
    assert found.rows() == [("a", 0.5, 1.0), ("b", 1.0, 0.5), ("c", 0.0, 0.0)]
    known = lists.filter(pl.col("relevant").is_not_null())
    run, qrels = pr.from_lists(known.to_arrow(), scores="scores", labels="grades")
    assert run["score"].to_list() == [0.5, 0.4, 1.0]
    assert qrels["label"].to_list() == [2, 1, 3, 1]


def test_sizes_of_groups():
    import numpy as np

    found = pr.from_groups(np.array([2, 0, 1]), label=np.array([0, 1, 2]))
    assert found.rows() == [(0, 0), (0, 1), (2, 2)]
    assert pr.from_groups(np.array([2.0, 1.0]), label=[5, 6, 7]).rows() == [
        (0, 5), (0, 6), (1, 7),
    ]  # fmt: skip
    assert pr.from_groups([], label=[]).height == 0
    for sizes, error, words in (
        ([2], ValueError, "must add up to the number of rows, 3"),
        ([4], ValueError, "must add up to the number of rows, 3"),
        ([4, -1], ValueError, "must be at least 0, not -1"),
        (np.array([2.5, 0.5]), TypeError, "whole numbers, not 2.5"),
        ([float("nan"), 3], TypeError, "whole numbers, not nan"),
        (["a", 3], TypeError, "whole numbers, not 'a'"),
    ):
        with pytest.raises(error, match=words):
            pr.from_groups(sizes, label=[0, 1, 2])
