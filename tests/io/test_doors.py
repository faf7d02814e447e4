"""Arguments and files that were let in, or refused in words that did not help."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.io import from_groups, from_lists, scan
from polars_rank.parts import evaluate_parts, files

LISTS = pl.DataFrame({"query_id": [1], "docs": [["a", "b"]], "good": [["b"]]})


@pytest.mark.parametrize(
    ("sizes", "columns", "error", "told"),
    [
        ([1, None], {"score": [1.0]}, TypeError, "must be whole numbers, not None"),
        ([None], {"score": []}, TypeError, "must be whole numbers, not None"),
        ([1.0, None], {"score": [1.0]}, TypeError, "must be whole numbers, not None"),
        (None, {"score": [1.0]}, TypeError, "must be several numbers.*not None"),
        (3, {"score": [1.0]}, TypeError, "must be several numbers.*not 3"),
        ([1], {"query_id": [7]}, ValueError, "number the queries in query_id"),
    ],
)
def test_sizes_of_groups(sizes, columns, error, told):
    with pytest.raises(error, match=told):
        from_groups(sizes, **columns)


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ({"retrieved": "docs", "relevant": "docs"}, "retrieved and relevant are both"),
        ({"retrieved": "docs", "relevant": "good", "scores": "docs"}, "'docs'; name"),
        ({"query": "good", "retrieved": "docs", "relevant": "good"}, "query and relev"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_a_column_of_lists_has_one_role(roles, told, lazy):
    with pytest.raises(ValueError, match=told):
        from_lists(LISTS.lazy() if lazy else LISTS, **roles)


LINES = ["query_id,doc_id,score", "1,a,2.0", "1,b,1.0"]


def test_lines_of_an_old_mac(tmp_path):
    file = tmp_path / "log.csv"
    file.write_bytes("\r".join(LINES).encode())
    with pytest.raises(pr.DataError, match="its lines end in a carriage return"):
        scan(file)
    file.write_bytes("\r\n".join([*LINES, ""]).encode())  # of Windows: read
    assert scan(file).collect().height == 2


@pytest.mark.parametrize("end", ["csv", "tsv"])
def test_a_comment_is_no_header(tmp_path, end):
    text = "\n".join(["# made by a tool, today", *LINES, ""])
    file = tmp_path / f"log.{end}"
    file.write_text(text.replace(",", "\t") if end == "tsv" else text)
    with pytest.raises(pr.DataError, match="the first line is a comment: '# made by"):
        scan(file)
    with pytest.raises(pr.DataError, match="the first line is a comment: '# made by"):
        scan(file, columns=["query_id", "doc_id", "score"])


def test_an_id_may_begin_like_a_comment(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("#1,a,2.0\n#1,b,1.0\n")
    found = scan(file, columns=["query_id", "doc_id", "score"]).collect()
    assert found["query_id"].to_list() == ["#1", "#1"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_full_standard_output_is_named(format):
    argv = ["evaluate", "--example", "-m", "rr", "--format", format]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "polars_rank.cli", *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "polars-rank: standard output: No space left on device\n"


SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"


def test_formulas_are_quoted_wherever_text_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frames = []
    for i, sign in enumerate(SIGNS):
        scores = [float((i + q) % 3) for q in range(8) for _ in "ab"]
        frames.append(
            pl.DataFrame(
                {
                    "=query": [q for q in range(8) for _ in "ab"],
                    "@system": f"{sign}1",
                    "doc_id": ["a", "b"] * 8,
                    "score": [s * (1 if j % 2 else -1) for j, s in enumerate(scores)],
                    "label": [1, 0] * 8,
                }
            )
        )
    pl.concat(frames).write_parquet("log.parquet")
    given = ["log.parquet", "--query", "=query", "--system", "@system", "-m", "rr"]
    for format, separator in (("csv", ","), ("tsv", "\t")):
        for command in ("evaluate", "compare"):
            argv = [command, *given, "--quote-formulas", "--format", format]
            assert main(argv) == 0
            out = capsys.readouterr().out
            rows = [*csv.reader(io.StringIO(out), delimiter=separator)]
            names = [name for name in rows[0] if "system" in name]
            assert "'@system" in rows[0] or command == "compare", names
            texts = [cell for row in rows for cell in row]
            systems = [cell for cell in texts if cell.endswith("1") and len(cell) < 4]
            assert {f"'{sign}1" for sign in SIGNS} <= {*systems}
            bare = [t for t in texts if t[:1] in SIGNS and t[:1] and not _number(t)]
            assert not bare
    assert main(["evaluate", *given, "--format", "csv"]) == 0
    assert "=1" in capsys.readouterr().out.replace("'=1", "")


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text[:1] in "+-"


def test_a_list_of_files_keeps_the_columns_of_their_folders(tmp_path):
    log = pl.DataFrame(
        {"query_id": [1, 2, 3], "score": 1.0, "label": [1, 0, 1], "day": [1, 1, 2]}
    )
    paths = []
    for (day,), part in log.group_by("day", maintain_order=True):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        paths.append(folder / "part.parquet")
        part.drop("day").write_parquet(paths[-1])
    wanted = pr.evaluate(log, "rr", by="day", no_relevant="zero")
    for given in (paths, [*map(str, paths)], tmp_path):
        found = evaluate_parts(files(given), "rr", by="day", no_relevant="zero")
        assert found.cast({"day": pl.Int64}).equals(wanted)
