"""Values and moments as they are given: streams, lost columns, time zones."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank.cli import main

VALUES = pl.DataFrame(
    {
        "system": ["a"] * 6 + ["b"] * 6,
        "query_id": [*range(6)] * 2,
        "ap": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.2, 0.4, 0.4, 0.6, 0.5, 0.9],
        "rr": [0.5] * 6 + [0.7, 0.2, 0.4, 0.5, 0.6, 0.1],
    }
)


def generator() -> Iterator[pl.DataFrame]:
    yield VALUES[:7]
    yield VALUES[7:]


def reader() -> pa.RecordBatchReader:
    table = VALUES.to_arrow()
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


GIVEN = {"generator": generator, "reader": reader, "table": VALUES.to_arrow}
FUNCTIONS: dict[str, Callable[..., pl.DataFrame]] = {
    "compare": lambda values: pr.compare(values).pairs,
    "power": pr.comparison.power,
    "orders": pr.comparison.orders,
    "stability": lambda values: pr.comparison.stability(values, n_resamples=99),
    "discriminative": lambda values: pr.comparison.discriminative(values, test="t"),
    "standardize": pr.comparison.standardize,
    "moments": pr.comparison.moments,
    "moments compared": lambda values: pr.compare(pr.comparison.moments(values)).pairs,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_a_stream_has_the_result_of_a_frame(function, given):
    assert_frame_equal(function(given()), function(VALUES))


def test_reference_values_may_be_a_stream_or_names():
    whole = pr.comparison.standardize(VALUES, reference=VALUES.filter(system="a"))
    own = VALUES.filter(system="a").to_arrow()
    assert_frame_equal(pr.comparison.standardize(VALUES, reference=own), whole)
    assert_frame_equal(pr.comparison.standardize(VALUES, reference=iter([own])), whole)
    for names in ("a", ["a"], ("a",)):
        assert_frame_equal(pr.comparison.standardize(VALUES, reference=names), whole)


def test_moments_as_a_stream_are_read_once():
    state = pr.comparison.moments(VALUES)
    found = pr.compare(iter([state.to_arrow()])).pairs
    assert_frame_equal(found, pr.compare(state).pairs)


# -- moments that have lost something


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in pr.comparison.moments(VALUES).columns
        if n not in ("definition", "digests")
    ],
)
def test_moments_without_a_column_are_named_as_such(name):
    state = pr.comparison.moments(VALUES).drop(name)
    with pytest.raises(pr.DataError, match=rf"without '{name}'.*anew") as raised:
        pr.compare(state)
    assert raised.value.rule == "missing_column"


def test_moments_that_went_through_csv_as_text_are_refused(tmp_path):
    pr.comparison.moments(VALUES).write_csv(tmp_path / "m.csv")
    text = pl.read_csv(tmp_path / "m.csv", infer_schema=False)
    with pytest.raises(pr.DataError, match="column 'queries' is String, no number"):
        pr.compare(text)


def test_moments_without_rows_that_a_comparison_needs_are_refused():
    state = pr.comparison.moments(VALUES)
    alone = pl.col("other").is_null()
    with pytest.raises(pr.DataError, match="no sums of 'b' alone"):
        pr.compare(state.filter(~(alone & (pl.col("system") == "b"))))
    one = alone & (pl.col("system") == "b") & (pl.col("measure") == "rr")
    with pytest.raises(pr.DataError, match="no sums of 'b' alone"):
        pr.compare(state.filter(~one))
    with pytest.raises(pr.DataError, match="no differences between 'a' and 'b'"):
        pr.compare(state.filter(alone))


def test_a_pair_that_no_part_holds_is_told():
    def of(first: str, second: str) -> pl.DataFrame:
        names = {"a": first, "b": second}
        return pr.comparison.moments(
            VALUES.with_columns(pl.col("system").replace(names))
        )

    days = pr.comparison.merge([of("a", "b"), of("b", "c")])
    text = str(pr.compare(days))
    assert "Not compared, since no part holds both: a and c." in text
    assert "Not compared" not in str(pr.compare(days, baseline="b"))


# -- time zones


def in_zone(frame: pl.DataFrame, zone: str) -> pl.DataFrame:
    day = dt.datetime(2026, 1, 1)
    return frame.with_columns(at=pl.lit(day).dt.replace_time_zone(zone))


UTC, BERLIN = (in_zone(VALUES, zone) for zone in ("UTC", "Europe/Berlin"))
RUN = pl.DataFrame(
    {"query_id": [1, 1, 2], "doc_id": ["x", "y", "x"], "score": [2.0, 1.0, 1.0]}
)
QRELS = pl.DataFrame({"query_id": [1, 2], "doc_id": ["y", "x"], "label": [1, 1]})


def test_time_zones_of_runs_that_differ_are_named_with_the_file(tmp_path):
    in_zone(RUN, "Europe/Berlin").write_parquet(tmp_path / "b.parquet")
    runs = {"a": in_zone(RUN, "UTC"), "b": tmp_path / "b.parquet"}
    said = r"'at' is Datetime.*Berlin.* in \S*b.parquet.*'UTC'.* in run 'a'; bring both"
    with pytest.raises(pr.DataError, match=said):
        pr.compare(runs, measures="rr", qrels=QRELS, query=["query_id", "at"])
    frames = {"a": runs["a"], "b": in_zone(RUN, "Europe/Berlin")}
    with pytest.raises(pr.DataError, match=r"in run 'b'.* in run 'a'"):
        pr.bounds(frames, ["rr"], qrels=QRELS, query=["query_id", "at"])


def test_time_zones_of_files_that_differ_are_named_with_the_file(tmp_path):
    UTC.write_parquet(tmp_path / "x.parquet")
    BERLIN.with_columns(pl.col("query_id") + 6).write_parquet(tmp_path / "y.parquet")
    said = r"y\.parquet: its columns are not those of .*x\.parquet.*'at'.*Berlin"
    for options in ({"by": "at"}, {"cluster": "at"}, {"by": "at", "interval": "bca"}):
        with pytest.raises(pr.DataError, match=said):
            pr.compare(tmp_path / "*.parquet", measures="ap", **options)
    with pytest.raises(pr.DataError, match=said):
        pr.comparison.trend(tmp_path / "*.parquet", time="at", measures=["ap"])


def test_time_zones_of_a_reference_and_a_baseline_that_differ_are_named():
    with pytest.raises(pr.DataError, match=r"Berlin.* in reference, .* in the values"):
        pr.comparison.standardize(UTC, reference=BERLIN, query=["query_id", "at"])
    base, new = UTC.filter(system="a"), BERLIN.filter(system="b")
    found = pr.gate(new.drop("system"), baseline=base.drop("system"), by="at")
    assert found.verdict == "invalid"
    assert re.search("Berlin.* in the new values, .* in the baseline", str(found))


def test_the_command_names_files_whose_time_zones_differ(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, zone in (("a", "UTC"), ("b", "Europe/Berlin")):
        in_zone(RUN, zone).write_parquet(f"{name}.parquet")
    QRELS.write_parquet("qrels.parquet")
    command = ["compare", "a.parquet", "b.parquet", "--qrels", "qrels.parquet"]
    assert main([*command, "-m", "rr", "--by", "at"]) == 1
    said = capsys.readouterr().err
    assert re.search("Berlin.* in b.parquet, .*UTC.* in a.parquet; bring both", said)
