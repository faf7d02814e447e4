"""Files that Polars cannot read are named, whichever frame they are behind."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank.io.same_columns import require_same_columns
from polars_rank.io.unreadable import damage_named

LOG = pl.DataFrame(
    {
        "query_id": [i // 4 for i in range(400)],
        "doc_id": [i % 4 for i in range(400)],
        "score": [float(i % 7) for i in range(400)],
        "label": [i % 3 for i in range(400)],
    }
)
SCANS = {".parquet": pl.scan_parquet, ".arrow": pl.scan_ipc, ".csv": pl.scan_csv}
WRITES: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": lambda rows, path: rows.write_parquet(path, compression="zstd"),
    ".arrow": lambda rows, path: rows.write_ipc(path, compression="zstd"),
    ".csv": lambda rows, path: rows.write_csv(path),
}
LAYOUTS: list[dict] = [
    {},
    {"layout": "any"},
    {"layout": "contiguous"},
    {"memory_limit": "1GB"},
]


def written(rows: pl.DataFrame, path: Path, *, damaged: str | None = None) -> Path:
    """A file whose rows, or whose footer, are overwritten."""
    WRITES[path.suffix](rows, path)
    data = bytearray(path.read_bytes())
    if damaged == "rows" and path.suffix == ".csv":
        data[-2:] = b"x\n"
    elif damaged == "rows":
        place = 8 if path.suffix == ".parquet" else len(data) // 3
        data[place : place + 200] = b"\xff" * 200
    elif damaged == "footer":
        data[-160:-20] = b"\xff" * 140
    path.write_bytes(data)
    return path


@pytest.fixture(params=[".parquet", ".arrow"])
def suffix(request):
    return request.param


@pytest.mark.parametrize("damaged", ["rows", "footer"])
@pytest.mark.parametrize("options", LAYOUTS, ids=str)
def test_a_damaged_log_is_named(tmp_path, suffix, damaged, options):
    path = written(LOG, tmp_path / f"log{suffix}", damaged=damaged)
    with pytest.raises(pr.DataError, match=f"log{suffix}: cannot be read"):
        pr.evaluate(SCANS[suffix](path), "ap", **options).collect()


@pytest.mark.parametrize("damaged", ["rows", "footer"])
@pytest.mark.parametrize("options", [LAYOUTS[0], *map(slow, LAYOUTS[1:])], ids=str)
def test_a_damaged_path_is_named(tmp_path, suffix, damaged, options):
    path = written(LOG, tmp_path / f"log{suffix}", damaged=damaged)
    with pytest.raises(pr.DataError, match=f"log{suffix}: cannot be read"):
        pr.per_query(path, "ap", **options)
    with pytest.raises(pr.DataError, match=f"log{suffix}: cannot be read"):
        pr.per_query(pr.scan(path), "ap", **options).collect()


@pytest.mark.parametrize("damaged", ["rows", "footer"])
@pytest.mark.parametrize("side", ["run", "qrels"])
@pytest.mark.parametrize("options", [LAYOUTS[0], *map(slow, LAYOUTS[2:])], ids=str)
def test_the_damaged_side_is_named(tmp_path, side, damaged, options):
    frames = {"run": LOG.drop("label"), "qrels": LOG.drop("score")}
    run, qrels = (
        pl.scan_parquet(
            written(
                rows,
                tmp_path / f"{name}.parquet",
                damaged=damaged if name == side else None,
            )
        )
        for name, rows in frames.items()
    )
    with pytest.raises(pr.DataError, match=rf"{side}\.parquet: cannot be read"):
        pr.evaluate(run, "ap", qrels=qrels, **options).collect()


def test_the_damaged_file_of_a_folder_is_named(tmp_path):
    written(LOG, tmp_path / "1.parquet")
    written(LOG, tmp_path / "2.parquet", damaged="footer")
    for scan in (pl.scan_parquet, pr.scan):
        with pytest.raises(pr.DataError, match=r"2\.parquet: cannot be read"):
            pr.evaluate(scan(tmp_path), "ap").collect()


@pytest.mark.parametrize("side", ["run", "qrels"])
def test_text_that_cannot_be_read_is_named(tmp_path, side):
    frames = {"run": LOG.drop("label"), "qrels": LOG.drop("score")}
    paths = {name: tmp_path / f"{name}.csv" for name in frames}
    for name, rows in frames.items():
        few = written(rows, paths[name], damaged="rows" if name == side else None)
        head, *lines = few.read_text().splitlines(keepends=True)
        few.write_text(head + "".join(LOG.height * 30 * lines[:1]) + lines[-1])
    run, qrels = (pl.scan_csv(path) for path in paths.values())
    with pytest.raises(
        pl.exceptions.ComputeError, match=rf"^\S*{side}\.csv: could not"
    ):
        pr.evaluate(run, "ap", qrels=qrels, on_duplicate="best").collect()


def test_a_panic_of_polars_is_an_error_of_ours(tmp_path):
    whole = pl.scan_parquet(written(LOG, tmp_path / "whole.parquet"))
    path = written(LOG, tmp_path / "log.parquet", damaged="rows")
    with (
        pytest.raises(pr.DataError, match=r"log\.parquet: cannot be read"),
        damage_named([whole, pl.scan_parquet(path)]),
    ):
        raise pl.exceptions.PanicException("unwrap")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "full", "elsewhere"),
        OSError(errno.ENOSPC, "full"),
        pl.exceptions.ColumnNotFoundError("score"),
        pl.exceptions.ComputeError("of another cause"),
        ValueError("of ours"),
    ],
    ids=repr,
)
def test_other_errors_stay_as_they_are(tmp_path, error):
    whole = pl.scan_parquet(written(LOG, tmp_path / "whole.parquet"))
    frames = [whole, LOG.lazy(), whole.with_columns(a=pl.col("score") + 1)]
    with pytest.raises(type(error)) as caught, damage_named(frames):
        raise error
    assert caught.value is error


def write_lines(rows: pl.DataFrame, path: Path) -> None:
    rows.write_ndjson(path)


def different(*changes: str) -> pl.DataFrame:
    """The log with changed columns."""
    rows = LOG
    for change in changes:
        if change == "renamed":
            rows = rows.rename({"score": "points"})
        elif change == "fewer":
            rows = rows.drop("label")
        elif change == "text":
            rows = rows.with_columns(pl.col("score").cast(pl.String))
        elif change == "order":
            rows = rows.select("query_id", "doc_id", "label", "score")
    return rows


@pytest.mark.parametrize(
    ("suffix", "change", "said"),
    [
        (".parquet", "renamed", "it has no 'score', has 'points' besides"),
        (".parquet", "text", "it has 'score' as String, not Float64"),
        (".arrow", "fewer", "it has no 'label'"),
        (".csv", "renamed", "it has no 'score', has 'points' besides"),
        (".csv", "order", "in another order: query_id, doc_id, label, score"),
        (".ndjson", "renamed", "it has no 'score'"),
        (".ndjson", "fewer", "it has no 'label'"),
    ],
)
def test_files_with_other_columns_are_named(tmp_path, suffix, change, said):
    """With judgments in the rows, a missing grade would count as not relevant."""
    write = WRITES.get(suffix, write_lines)
    write(LOG, tmp_path / f"1{suffix}")
    write(different(change), tmp_path / f"2{suffix}")
    with pytest.raises(pr.DataError, match=said) as caught:
        pr.per_query(pr.scan(tmp_path), "ap").collect()
    assert re.search(rf"2\{suffix}: .* not those of .*1\{suffix}: ", str(caught.value))
    assert caught.value.rule == "different_columns"


def test_folders_that_name_values_give_a_file_no_column(tmp_path):
    """``day=1`` in a path is of the scan; the files have the same columns."""
    files = [tmp_path / "day=1" / "1.parquet", tmp_path / "rest" / "2.parquet"]
    for file in files:
        file.parent.mkdir()
        LOG.write_parquet(file)
    require_same_columns(files)
    LOG.drop("label").write_parquet(files[1])
    with pytest.raises(pr.DataError, match="it has no 'label'"):
        require_same_columns(files)


def test_lines_may_leave_out_columns_of_other_names(tmp_path):
    rows = LOG.with_columns(note=pl.lit("x"))
    rows.head(200).write_ndjson(tmp_path / "1.ndjson")
    rows.tail(200).drop("note").write_ndjson(tmp_path / "2.ndjson")
    text = (tmp_path / "2.ndjson").read_text().replace('"label":0', '"label":null', 1)
    (tmp_path / "2.ndjson").write_text(text)
    assert pr.scan(tmp_path).collect().height == 400


@pytest.mark.parametrize("above", [{}, {"weight": 1}, {"weight": None}])
def test_a_late_column_or_type_is_found_among_many_rows(tmp_path, above):
    row, path = {"query_id": "q", "doc_id": "d", "score": 1.0}, tmp_path / "a.ndjson"
    lines = [*[row | above] * 9_999, row | {"weight": 2.5}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = pr.scan(path).collect()
    assert found.schema["weight"] == pl.Float64
    assert found["weight"].to_list() == [above.get("weight")] * 9_999 + [2.5]


def test_long_lines_may_be_cut_where_they_are_looked_at(tmp_path):
    rows = LOG.head(2).with_columns(note=pl.lit("x" * 100_000))
    for part in "12":
        rows.write_ndjson(tmp_path / f"{part}.ndjson")
    assert pr.scan(tmp_path).collect().height == 4
