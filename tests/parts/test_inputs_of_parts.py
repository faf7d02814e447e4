"""What an evaluation in parts takes: frames of any library, files, globs, partials."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa
import pytest
from pieces import InPieces, Pieces
from test_evaluation_in_parts import bits, rows, split

import polars_rank as pr
from polars_rank.parts import Part, bucketed, cut, evaluate_parts, files

LOG = rows(12).sort("query_id")
RUN, QRELS = LOG.drop("label"), LOG[["query_id", "doc_id", "label"]]
MEASURES = ["ndcg@10", "ap"]
WHOLE = bits(pr.evaluate(LOG, MEASURES))


def reader(frame: pl.DataFrame) -> pa.RecordBatchReader:
    return frame.to_arrow().to_reader(max_chunksize=7)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    for i, part in enumerate(split(LOG, 3, 2)):
        part.write_parquet(folder / f"{i}.parquet")
    return folder


def test_files_of_a_folder_or_a_glob_are_parts(folder):
    """The text of a path is not taken for paths of one letter each."""
    one = folder / "0.parquet"
    assert [len(files(x)) for x in (folder, f"{folder}/*.parquet", one)] == [3, 3, 1]
    assert len(files([folder, str(one)])) == 4
    for given in (str(folder), [f"{folder}/[01].parquet", f"{folder}/2.*"]):
        assert bits(evaluate_parts(files(given), MEASURES)) == WHOLE
    with pytest.raises(pr.DataError, match="no file matches"):
        files(f"{folder}/*.csv")


def test_folders_that_part_the_files_are_columns(tmp_path):
    """As Spark writes days."""
    log = LOG.with_columns(day=pl.format("2026-11-0{}", pl.col("query_id") % 2 + 1))
    for day, part in log.partition_by("day", as_dict=True, include_key=False).items():
        folder = tmp_path / "log" / f"day={day[0]}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "0.parquet")
    single = pr.evaluate(pr.scan(tmp_path / "log"), MEASURES, by="day").collect()
    assert len(single) == 2
    parts = files(tmp_path / "log")
    assert len(parts) == 2
    assert evaluate_parts(parts, MEASURES, by="day").equals(single)
    buckets = bucketed(tmp_path / "log", 2, tmp_path / "buckets")
    assert evaluate_parts(buckets, MEASURES, by="day").equals(single)


def test_parts_may_be_frames_and_paths(folder):
    first, *others = [pl.read_parquet(path) for path in sorted(folder.iterdir())]
    given = [first, reader(others[0]), folder / "2.parquet"]
    assert bits(evaluate_parts(given, MEASURES)) == WHOLE
    assert bits(evaluate_parts([Part(reader(LOG))], MEASURES)) == WHOLE


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pl.DataFrame.lazy, reader], ids=["eager", "lazy", "reader"]
)
def test_a_frame_of_any_kind_is_cut(make, folder):
    assert bits(evaluate_parts(cut(make(LOG), 4), MEASURES)) == WHOLE
    LOG.write_parquet(folder / "log.parquet")
    assert bits(evaluate_parts(cut(folder / "log.parquet", 4), MEASURES)) == WHOLE
    with pytest.raises(ValueError, match="parts must be a whole number"):
        cut(LOG, 1.5)


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pl.DataFrame.lazy, reader], ids=["eager", "lazy", "reader"]
)
def test_a_frame_of_no_rows_is_cut(make):
    with pytest.warns(pr.DataWarning, match="the frame has no rows"):
        whole = pr.evaluate(LOG.clear(), MEASURES)
    with pytest.warns(pr.DataWarning, match="the frame has no rows"):
        found = evaluate_parts(cut(make(LOG.clear()), 3), MEASURES)
    assert bits(found) == bits(whole)
    assert whole["queries"].to_list() == [0]


@pytest.mark.parametrize(
    "own",
    [{"qrels": QRELS}, {"queries": LOG.select("query_id").unique()}],
    ids=["qrels", "queries"],
)
def test_a_part_that_is_cut_has_no_judgments_of_its_own(own):
    assert evaluate_parts([Part(RUN, QRELS)], "rr")["queries"].item() > 0
    with pytest.raises(ValueError, match="a part with cut=True takes no qrels or quer"):
        evaluate_parts([Part(RUN, cut=True, **own)], "rr")


@pytest.mark.parametrize("wrong", [LOG, LOG.lazy(), "log.parquet", Part(LOG)], ids=type)
def test_one_frame_is_not_several_parts(wrong):
    with pytest.raises(TypeError, match=r"parts must be several.*pr\.evaluate takes"):
        evaluate_parts(wrong, "ap")


@pytest.mark.slow
def test_buckets_of_one_frame_folder_or_glob(folder, tmp_path):
    for i, given in enumerate((LOG, folder, f"{folder}/*.parquet")):
        parts = bucketed(given, 2, tmp_path / f"{i}")
        assert bits(evaluate_parts(parts, MEASURES)) == WHOLE
    assert len([*(tmp_path / "1").iterdir()]) == 3  # a task for each file
    judged = tmp_path / "judgments.parquet"
    QRELS.write_parquet(judged)
    single = bits(pr.evaluate(RUN, MEASURES, qrels=QRELS))
    for i, given in enumerate((QRELS, judged)):
        parts = bucketed([RUN], 2, tmp_path / f"judged{i}", qrels=given)
        assert bits(evaluate_parts(parts, MEASURES)) == single


def nested(frame: pl.DataFrame) -> dict:
    found: dict = {}
    for query, doc, label in frame.rows():
        found.setdefault(query, {})[doc] = label
    return found


def text(folder, frame):
    """As trec_eval has them: ids are text, those of the run are numbers."""
    lines = [f"{q} 0 {d} {label}\n" for q, d, label in frame.rows()]
    (folder / "judged.qrels").write_text("".join(lines))
    return folder / "judged.qrels"


JUDGED = {
    "a dictionary": lambda _, frame: nested(frame),
    "Arrow": lambda _, frame: frame.to_arrow(),
    "batches": lambda _, frame: reader(frame),
    "text": text,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", JUDGED)
def test_judgments_of_the_whole_are_of_any_kind(kind, tmp_path):
    run = RUN.filter(pl.col("query_id") != 5)
    options = {"by": "country", "missing": "zero"}

    def judged():
        return JUDGED[kind](tmp_path, QRELS)

    single = bits(pr.evaluate(run, MEASURES, qrels=judged(), **options))
    found = evaluate_parts(split(run, 3, 1), MEASURES, qrels=judged(), **options)
    assert bits(found) == single
    evaluation = pr.Evaluation(MEASURES, **options)
    partials = [
        evaluation.partial(part, qrels=judged(), broadcast=True)
        for part in split(run, 3, 1)
    ]
    assert bits(evaluation.merge(partials, qrels=judged())) == single
    values = evaluation.per_query(run.to_arrow(), qrels=judged()).collect()
    single = pr.per_query(run, MEASURES, qrels=judged(), missing="zero")
    assert values.sort("query_id").equals(single)


def test_an_engine_takes_a_dictionary_of_judgments_with_segments():
    frames = {"qrels": nested(QRELS), "by": "country", "weight": "traffic"}
    found = InPieces().evaluate(Pieces.of(RUN), MEASURES, **frames)
    assert bits(found) == bits(pr.evaluate(RUN, MEASURES, **frames))


def test_partials_are_of_any_kind(tmp_path):
    evaluation = pr.Evaluation(MEASURES)
    partials = [evaluation.partial(part) for part in split(LOG, 3, 2)]
    for i, partial in enumerate(partials):
        partial.write_parquet(tmp_path / f"{i}.parquet")
    glob = f"{tmp_path}/*.parquet"
    for given in (
        tmp_path,
        glob,
        sorted(tmp_path.iterdir()),
        pl.scan_parquet(glob),
        [p.to_arrow() for p in partials],
        pl.concat(partials).to_arrow(),
        (p.lazy() for p in partials),
    ):
        assert bits(evaluation.merge(given)) == WHOLE
    LOG.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=r"log\.parquet: no partial, but a frame of"):
        evaluation.merge(glob)
    with pytest.raises(ValueError, match=r"^the partial: no partial, but a frame of q"):
        evaluation.add([pr.evaluate(LOG, MEASURES)])


@pytest.mark.parametrize("options", [{}, {"by": "country", "weight": "traffic"}])
def test_partials_of_many_days_may_be_one_table(options):
    """With columns of the user that tell the days apart."""
    evaluation = pr.Evaluation([*MEASURES, "num_rel", "gm_ap"], **options)
    days = [
        evaluation.partial(part).with_columns(day=pl.lit(f"day {i}"), number=i)
        for i, part in enumerate(split(LOG, 3, 2))
    ]
    single = pr.evaluate(LOG, [*MEASURES, "num_rel", "gm_ap"], **options)
    assert bits(evaluation.merge(pl.concat(days))) == bits(single)
    month = evaluation.add(days)
    assert not {"day", "number"} & {*month.columns}
    assert bits(evaluation.merge(month)) == bits(single)


def test_progress_tells_of_parts(folder):
    heard = []
    evaluate_parts(files(folder), "ap", progress=heard.append)
    assert heard == [pr.parts.Progress("evaluate", i, 3, "parts") for i in (1, 2, 3)]
    evaluate_parts(files(folder), "ap", progress=heard.append, memory_limit="1GB")
    assert len(heard) == 6


def test_parts_are_visited_one_by_one():
    """Not all of them are held, unless somebody asks how many there are."""
    held = []

    def parts():
        for part in split(LOG, 3, 2):
            held.append(len(held))
            yield part

    def visits(function, items):
        for i, item in enumerate(items):
            assert len(held) == i + 1
            yield function(item)

    assert bits(evaluate_parts(parts(), MEASURES, map=visits)) == WHOLE


def test_results_of_paths_are_kept(tmp_path):
    results = tmp_path / "results"
    run, qrels = tmp_path / "run.parquet", tmp_path / "judgments.parquet"
    RUN.write_parquet(run)
    QRELS.write_parquet(qrels)
    single = bits(pr.evaluate(RUN, MEASURES, qrels=QRELS))
    for _ in range(2):
        found = evaluate_parts([Part(run)], MEASURES, qrels=qrels, resume=results)
        assert bits(found) == single
        assert len([*results.iterdir()]) == 1
    for _ in range(2):
        evaluate_parts([run], MEASURES, qrels=QRELS, resume=results)
        assert len([*results.iterdir()]) == 2
    other = QRELS.with_columns(label=pl.lit(1, pl.Int64))
    other.write_parquet(qrels)
    found = evaluate_parts([run], MEASURES, qrels=qrels, resume=results)
    assert bits(found) == bits(pr.evaluate(RUN, MEASURES, qrels=other))


def futures(function, items):
    with ThreadPoolExecutor(1) as threads:
        return [threads.submit(function, item) for item in items]


def some(function, items):
    return [function(item) for item in items][1:]


def first(function, items):
    return [function(next(iter(items)))]


@pytest.mark.parametrize(
    ("map", "error", "message"),
    [
        (futures, TypeError, r"map= gives a Future where.*client\.gather"),
        (some, ValueError, "map= gives 2 of 3 results"),
        (first, ValueError, "map= gives 1 of 3 results"),
    ],
)
def test_a_map_that_gives_no_results(map, error, message, folder, tmp_path):
    with pytest.raises(error, match=message):
        evaluate_parts(files(folder), MEASURES, map=map)
    with pytest.raises(error, match=message):
        bucketed(folder, 2, tmp_path / "buckets", map=map)


@pytest.mark.slow
def test_a_map_may_give_results_in_any_order(folder, tmp_path):
    def backwards(function, items):
        return [function(item) for item in items][::-1]

    assert bits(evaluate_parts(files(folder), MEASURES, map=backwards)) == WHOLE
    run, qrels = RUN.with_row_index("label"), QRELS.with_columns(score=1.0)
    given = {"frames": [run[::2], run[1::2]], "qrels": [qrels]}
    parts = bucketed(**given, n_buckets=3, folder=tmp_path / "b", map=backwards)
    single = bits(pr.evaluate(RUN, MEASURES, qrels=QRELS))
    assert bits(evaluate_parts(parts, MEASURES)) == single


def stream(frame: pl.DataFrame) -> pl.LazyFrame:
    """Spent after one pass."""
    return pl.scan_arrow_c_stream(reader(frame))


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
def test_what_can_be_read_once_is_read_once(layout):
    """Parts and broadcast judgments need some rows twice."""
    options = {"layout": layout, "missing": "zero"}
    run = RUN.filter(pl.col("query_id") != 5)
    single = bits(pr.evaluate(run, MEASURES, qrels=QRELS, missing="zero"))
    assert bits(evaluate_parts(cut(stream(LOG), 4), MEASURES, layout=layout)) == WHOLE
    part = Part(stream(LOG), cut=True)
    assert bits(evaluate_parts([part], MEASURES, layout=layout)) == WHOLE
    parts = [stream(frame) for frame in split(run, 3, 1)]
    found = evaluate_parts(parts, MEASURES, qrels=stream(QRELS), **options)
    assert bits(found) == single
    evaluation = pr.Evaluation(MEASURES, **options)
    partial = evaluation.partial(stream(run), qrels=stream(QRELS), broadcast=True)
    assert bits(evaluation.merge(partial, qrels=stream(QRELS))) == single
