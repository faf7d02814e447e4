"""Reading runs and judgments, and writing results."""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank._engine.spill.digest import digest_of
from polars_rank._files.temporary import Folder
from polars_rank.exceptions import DataError
from polars_rank.io import scan, scan_trec_qrels, scan_trec_run, write
from polars_rank.io.formats import extensions, format_of
from polars_rank.io.lines import blocks

ENGINES = ("in-memory", "streaming")
OUTPUTS = ("a.parquet", "a.csv", "a.ndjson", "a.arrow")
RUN = b"1 Q0 d1 1 2.5 a\n1 Q0 d2 2 1.5 a\n"
ROWS = [("1", "d1", 2.5, "a"), ("1", "d2", 1.5, "a")]
TABLE = pl.DataFrame({"query_id": ["1", "2"], "doc_id": ["a", "b"], "score": [1.0, 2]})


@pytest.fixture
def put(tmp_path):
    """Write bytes to a file of the given name and hand back its path."""

    def put(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return put


def zipped(data: bytes) -> bytes:
    """Without the time: these bytes are the names of tests, in every process."""
    return gzip.compress(data, mtime=0)


def parquet(frame: pl.DataFrame = TABLE) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def arrow(frame: pl.DataFrame = TABLE) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def fails(path, *, kind: str = "run", engine: str = "streaming") -> str:
    with pytest.raises(DataError) as caught:
        scan(path, kind=kind).collect(engine=engine)
    return str(caught.value)


# --- TREC text ---------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_run_columns_and_types(put, engine):
    frame = scan_trec_run(put("a.run", RUN)).collect(engine=engine)
    assert frame.schema == {
        "query_id": pl.String,
        "doc_id": pl.String,
        "score": pl.Float64,
        "system": pl.String,
    }
    assert frame.rows() == ROWS


@pytest.mark.parametrize("engine", ENGINES)
def test_qrels_columns_and_types(put, engine):
    lf = scan_trec_qrels(put("q", b"1 0 d1 1\n1 0 d2 -1\n2 0 d1 0.5\n"))
    frame = lf.collect(engine=engine)
    assert frame.schema == {
        "query_id": pl.String,
        "iteration": pl.String,
        "doc_id": pl.String,
        "label": pl.Float64,
    }
    assert frame["label"].to_list() == [1.0, -1.0, 0.5]


@pytest.mark.parametrize(
    "data",
    [
        b"1\tQ0\td1\t1\t2.5\ta\n1\tQ0\td2\t2\t1.5\ta\n",
        b"  1  Q0 d1   1 2.5\t a \n1 Q0 d2 2 1.5 a\t\n",
        b"1 Q0 d1 1 2.5 a\r\n1 Q0 d2 2 1.5 a\r\n",
        b"1\vQ0\fd1 1 2.5 a\r\r\n1 Q0 d2 2 1.5 a",
        b"\xef\xbb\xbf1 Q0 d1 1 2.5 a\n1 Q0 d2 2 1.5 a\n",
        b"# 1 Q0 d9 1 2.5\n1 Q0 d1 1 2.5 a\n1 Q0 d2 2 1.5 a\n",
        b"1 Q0 d1 1 2.5 a\n# 1 Q0 d9 1\n1 Q0 d2 2 1.5 a\n",
        b"# 1 Q0 d9 1 2.5\n\n1 Q0 d1 1 2.5 a\n \t\n  # 1 Q0 d9 1 2.5 a\n"
        b"1 Q0 d2 2 1.5 a\n\n\n",
        zipped(RUN),
        zipped(RUN[:17]) + zipped(RUN[17:]),
    ],
)
def test_blanks_comments_and_compression(put, data):
    assert scan(put("a.run", data), kind="run").collect().rows() == ROWS


@pytest.mark.parametrize(
    "name", ["a.txt", "a.trec", "a.res", "input.bm25", "a", "a.GZ"]
)
def test_any_other_name_is_trec_text(put, name):
    assert scan(put(name, RUN), kind="run").collect().rows() == ROWS


def test_tag_may_be_missing(put):
    frame = scan_trec_run(put("a", b"1 Q0 d 1 2.5\n1 Q0 e 1 2 t\n1 Q0 f 1 1 \n"))
    assert frame.collect()["system"].to_list() == [None, "t", None]


@pytest.mark.parametrize("line", [b" 1 Q0 d 7 2.5\n", b"1 Q0  d 7 2.5\n"])
def test_a_blank_too_many_shifts_no_field(put, line):
    frame = scan_trec_run(put("a", line)).select("doc_id", "score").collect()
    assert frame.rows() == [("d", 2.5)]


def test_ids_are_kept_as_they_stand(put):
    ids = ['"q', "'", "007", "d#1", "a,b", "x^", "\u00a0", "ü", "null", "NA"]
    data = "".join(f"{i} Q0 {i} 1 1 {i}\n" for i in ids).encode()
    frame = scan_trec_run(put("a", data)).collect()
    assert frame["query_id"].to_list() == ids
    assert frame["doc_id"].to_list() == ids
    assert frame["system"].to_list() == ids


@pytest.mark.parametrize("first", ["x^q", "x\x01q"])
def test_first_bytes_that_look_like_zlib_data(put, first):
    frame = scan_trec_run(put("a", f"{first} Q0 d 1 1 t\n".encode())).collect()
    assert frame["query_id"].item() == first


def test_numbers_are_read_as_python_reads_them(put):
    rng = random.Random(3)
    texts = ["1", "-0", "+5", ".5", "5.", "1e5", "1E-7", "inf", "-Infinity", "1e400"]
    texts += [repr(rng.gauss(0, 10)) for _ in range(500)]
    texts += [f"{rng.random():.25f}" for _ in range(500)]
    data = "".join(f"1 Q0 d 1 {t} s\n" for t in texts).encode()
    got = scan_trec_run(put("a", data)).collect()["score"].to_list()
    assert list(map(repr, got)) == [repr(float(t)) for t in texts]


BAD = [
    (b"1 Q0 d 1", "found 4 fields"),
    (b"1 Q0 d 1 2.5 t u", "found 7 fields"),
    (b"1 Q0 d 1 2.5 t  u", "found 7 fields"),
    (b"1 Q0 d 1 2.5 t   u v", "found 8 fields"),
    (b"1 Q0 d", "found 3 fields"),
    (b"1", "found 1 field."),
    (b"1 Q0 d 1 x t", "the score 'x' is not a number"),
    (b"1 Q0 d 1 1_0 t", "the score '1_0' is not a number"),
    (b"1 Q0 d 1 0x1 t", "the score '0x1' is not a number"),
    (b"1 Q0 d 1 nan t", "the score 'nan' is not a number"),
    (b"1 Q0 d 1 -NaN", "the score '-NaN' is not a number"),
    (b"1 Q0 d\xff 1 2 t", "not UTF-8"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("line", "wrong"), BAD)
def test_bad_run_line(put, engine, line, wrong):
    path = put("a.run", b"# note\n" + RUN + b"\n" + line + b"\n" + RUN)
    message = fails(path, engine=engine)
    assert message.startswith(f"{path}, line 5: ")
    assert wrong in message
    assert "Expected 5 or 6 fields: query_id Q0 doc_id rank score [tag]" in message
    assert line.decode(errors="backslashreplace") in message
    assert "start it with # to leave it out" in message


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"1 0 d", "found 3 fields"),
        (b"1 0 d 1 2", "found 5 fields"),
        (b"1 0 d one", "the label 'one' is not a number"),
        (b"1 0 d NaN", "the label 'NaN' is not a number"),
    ],
)
def test_bad_qrels_line(put, line, wrong):
    path = put("q.qrels", b"1 0 a 1\r\n" + line + b"\r\n1 0 b 1\r\n")
    message = fails(path, kind="qrels")
    assert message.startswith(f"{path}, line 2: ")
    assert wrong in message
    assert "Expected 4 fields: query_id iteration doc_id label" in message


def test_bad_line_is_shown_safely(put):
    line = b"1 Q0 d\x1b[31m\x07 1 2.5 t " + b"y" * 5000
    message = fails(put("a", RUN + line + b"\n"))
    shown = re.search("The line reads: (.*)", message)
    assert shown is not None
    assert shown[1].startswith(r"1 Q0 d\x1b[31m\x07 1 2.5 t yyy")
    assert len(shown[1]) == 200
    assert shown[1].endswith("…")
    assert message.replace("\n", "").isprintable()


@pytest.mark.parametrize("columns", [["query_id", "score"], ["system"], ["doc_id"]])
@pytest.mark.parametrize(("line", "wrong"), BAD)
def test_bad_line_counts_whatever_is_asked(put, columns, line, wrong):
    lf = scan_trec_run(put("a", RUN + line + b"\n"))
    for plan in (lf.select(columns), lf.select(pl.len()), lf.group_by(columns).len()):
        with pytest.raises(DataError, match=r", line 3: "):
            plan.collect(engine="streaming")


def test_first_of_several_bad_lines_is_named(put):
    path = put("a", RUN + b"1 Q0 d 1 x t\n1 2 3\n1 Q0 d 1 nan t\n")
    assert f"{path}, line 3: the score 'x'" in fails(path)


def test_swapped_kinds_are_hinted_at(put):
    assert "So has a qrels file" in fails(put("q", b"1 0 d 1\n"))
    assert "So has a run file" in fails(put("r", RUN), kind="qrels")


@pytest.mark.parametrize("engine", ENGINES)
def test_line_number_far_into_a_file(put, engine, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 10_000)
    path = put("a.gz", zipped(b"#\n" + RUN * 3000 + b"\n1 2\n"))
    message = fails(path, engine=engine)
    assert message.startswith(f"{path}, line 6003: found 2 fields")


def test_very_long_line(put, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 100)
    monkeypatch.setattr(blocks, "LONGEST", 1000)
    path = put("a", b"y" * 5000)
    message = fails(path)
    assert f"{path}: found a line of more than 1000 bytes" in message
    assert "Check that" in message


@pytest.mark.parametrize(
    "data",
    [
        zipped(RUN * 50_000)[:-500],
        zipped(RUN)[:-8] + b"\0" * 8,
        zipped(random.Random(0).randbytes(100_000))[:60_000] + b"\0" * 60_000,
        b"\x1f\x8b rubbish",
    ],
    ids=["cut", "checksum", "zeros", "rubbish"],
)
def test_damaged_gzip(put, data):
    path = put("a.run.gz", data)
    message = fails(path)
    assert f"{path}: cannot be read: " in message
    assert "fetch the file again" in message


@pytest.mark.parametrize(
    ("data", "found"),
    [(parquet(), "Parquet"), (arrow(), "Arrow IPC"), (b"\x28\xb5\x2f\xfd", "zstd")],
)
def test_binary_is_no_trec_text(put, data, found):
    path = put("a.run", data)
    message = fails(path)
    assert f"{path}: found {found}, expected TREC text. Name the file" in message


# --- Damaged text -------------------------------------------------------------------


def csv_log(rows: int, end: str = "\n") -> bytes:
    lines = [f"q{i // 9},d{i},{1 / (i + 1):.4f},{i % 3}" for i in range(rows)]
    return end.join(["query_id,doc_id,score,label", *lines, ""]).encode()


def trec_run(rows: int, tag: str = " tag") -> bytes:
    lines = [f"q{i // 9} Q0 d{i} {i % 9} {1 / (i + 1):.4f}{tag}\n" for i in range(rows)]
    return "".join(lines).encode()


def trec_qrels(rows: int) -> bytes:
    return "".join(f"q{i // 9} 0 d{i} {i % 13 - 1}\n" for i in range(rows)).encode()


TEXTS = [
    ("a.csv", csv_log(500), "run"),
    ("a.tsv", csv_log(500).replace(b",", b"\t"), "run"),
    ("windows.csv", csv_log(500, "\r\n"), "run"),
    ("quoted.csv", re.sub(rb"(d\d+)", rb'"\1"', csv_log(500)), "run"),
    ("a.run", trec_run(500), "run"),
    ("no tag", trec_run(500, ""), "run"),
    ("qrels", trec_qrels(500), "qrels"),
]


@pytest.mark.parametrize(("name", "data", "kind"), TEXTS)
def test_a_last_line_that_was_cut_is_noticed(put, name, data, kind):
    """Whatever is read has whole lines only, if the others show what is missing."""
    rng = random.Random(name)
    rows = scan(put(name, data), kind=kind).collect().rows()
    accepted = 0
    for place in rng.sample(range(len(data) // 2, len(data)), 25):
        lines = data[:place].count(b"\n")
        try:
            found = scan(put(name, data[:place]), kind=kind).collect().rows()
        except (DataError, pl.exceptions.ComputeError):
            continue
        assert found == rows[: len(found)], place
        assert len(found) >= lines - 1
        accepted += 1
    assert accepted < 20


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_cut_short_says_what_to_do(put, engine):
    message = fails(put("a", trec_run(20)[:-6]), engine=engine)
    assert ", line 20: the last line has no newline and looks cut short" in message
    assert "it has 5 fields, all others 6" in message
    assert "if the line is whole, end it with a newline" in message
    message = fails(put("a.csv", csv_log(20)[:-2]), engine=engine)
    assert "a.csv: the last line has no newline and looks cut short" in message
    assert "'' " not in message
    assert "ends in '', which may be the beginning of a field" in message


@pytest.mark.parametrize("separator", [b",", b"\t"])
@pytest.mark.parametrize("place", [1, 20_000, 39_999])
def test_a_line_with_too_few_fields_is_named(put, separator, place):
    """Polars itself reads what is missing as null, which is unjudged."""
    lines = [b"query_id,doc_id,score,label"]
    lines += [b"q%d,the document %d,1.5,1" % (i // 100, i) for i in range(40_000)]
    name = "a.csv" if separator == b"," else "a.tsv"
    for line, wrong in (
        (b"q1,a,1.5", "has 3 of 4 fields"),
        (b"q1", "has 1 of 4 fields"),
        (b"", "is blank"),
    ):
        changed = [*lines[:place], line, *lines[place:]]
        data = b"\n".join(changed).replace(b",", separator) + b"\n"
        assert len(data) > 1 << 20
        with pytest.raises(DataError, match=f"line {place + 1} {wrong}") as caught:
            scan(put(name, data)).select("query_id").collect()
        assert caught.value.rule == "short_line"


def test_quoted_fields_may_hold_separators_and_newlines(put):
    data = b'query_id,doc_id,score\n1,"a,b,c",1\n1,"x\ny",2\n'
    assert scan(put("a.csv", data)).collect()["doc_id"].to_list() == ["a,b,c", "x\ny"]


def test_a_column_that_is_named_twice_is_refused(put):
    path = put("a.csv", b"query_id,doc_id,score,label,score\n1,a,1,1,2\n")
    with pytest.raises(DataError, match="names column 'score' twice"):
        scan(path)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a", b"1 Q0 a 1 2.5\n1 Q0 b 2 1.5", "run"),
        ("a", b"1 Q0 a 1 2.5", "run"),
        ("a", b"1 Q0 a 1 2.5 tag\n1 Q0 b 2 1 tag", "run"),
        ("a", b"1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.25 other", "run"),
        ("a", b"1 Q0 a 1 2.5 tag\n1 Q0 b 2 1\n1 Q0 c 2 1", "run"),  # tags are missing
        ("a", b"1 Q0 a 1 2.5\n1 Q0 b 2 1\r", "run"),
        ("a", b"1 Q0 a 1 2.5\n1 Q0 b 2 1\n# the end", "run"),
        ("a", b"1 0 a -1\n1 0 b 2\n1 0 c 1", "qrels"),
        ("a.csv", b"query_id,doc_id\n1,a\n1,b", "run"),
        ("a.csv", b"query_id,rest\n1,\n2,", "run"),
        ("a.csv", b'query_id,doc_id\n1,"a,b"\n1,b', "run"),
        ("a.csv", b"query_id,doc_id\n1,a\n \t", "run"),
        ("a.csv", b"query_id,doc_id", "run"),
    ],
)
def test_a_whole_line_needs_no_newline(put, name, data, kind):
    """Nothing shows that more should follow."""
    scan(put(name, data), kind=kind).collect()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "data", "kind"), TEXTS)
def test_a_lost_sector_is_noticed(put, engine, name, data, kind):
    """Also where it leaves as many fields, in columns that nobody reads."""
    for place in (40, 1000, len(data) - 513):
        path = put(name, data[:place] + b"\0" * 512 + data[place + 512 :])
        with pytest.raises((DataError, pl.exceptions.ComputeError)):
            scan(path, kind=kind).select("query_id").collect(engine=engine)
    line = data[:4000].count(b"\n") + 1
    path = put(name, data[:4000] + b"\0" + data[4000:])
    with pytest.raises(DataError, match="found NUL bytes") as caught:
        scan(path, kind=kind).select(pl.len()).collect(engine=engine)
    place = f"{path}:" if "." in name and name != "a.run" else f"{path}, line {line}:"
    assert str(caught.value).startswith(place)


def test_a_file_that_changes_is_checked_again(put):
    """And the plan is the same before and after: an evaluation can be resumed."""
    path = put("a.csv", csv_log(50))
    frame = scan(path, kind="run")
    before = digest_of([frame], frame, "")
    assert frame.collect().height == 50
    assert digest_of([frame], frame, "") == before is not None
    put("a.csv", csv_log(50).replace(b"d7,", b"d\0,"))
    with pytest.raises(DataError, match="NUL"):
        frame.collect()


@pytest.mark.parametrize("data", [b"# 1 0 a 1\n", b"\n \n\n", b"#", b"#\n" * 9000])
@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_a_file_of_comments_is_no_data(put, data, kind):
    message = fails(put("a", data), kind=kind)
    assert "holds only comments and empty lines. Expected" in message


def read_plainly(data: bytes, counts: tuple[int, ...], number: int):
    """Read TREC text the slow way: the rows, or the number of the first bad line."""
    rows = []
    for place, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        fields = line.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        try:
            texts = [field.decode() for field in fields]
            value = float(texts[number])
        except (ValueError, IndexError):
            return place
        if len(fields) not in counts or value != value or "_" in texts[number]:
            return place
        rows.append((*texts[:number], value, *texts[number + 1 :]))
    return rows


def made_up(rng: random.Random, kind: str) -> bytes:
    tidy = rng.random() < 0.3
    letters = "abc019\"'#,^xü\u00a0\u2028\x1c._-"

    def word() -> str:
        text = "".join(rng.choices(letters, k=rng.randint(1, 15)))
        return "w" + text if text.startswith("#") and rng.random() < 0.95 else text

    def blank() -> str:
        return " " if tidy else rng.choice([" ", "\t", "  ", " \t", "\v", "\f", "\r"])

    end = rng.choice(["\n", "\r\n"])
    lines = []
    bad = rng.choice([0, 0, 0.05])
    for _ in range(rng.randint(1, 25)):
        value = rng.choice([repr(rng.gauss(0, 9)), str(rng.randint(-2, 9)), "1e3"])
        if rng.random() < bad:
            value = rng.choice(["nan", "x", "1_0", "1,5", "0x1"])
        fields = [word(), "0", word(), value]
        if kind == "run":
            fields = [word(), "Q0", word(), "1", value, word()][: rng.choice([5, 6, 6])]
        if rng.random() < bad:
            fields = (fields * 2)[: rng.choice([1, 2, 3, 4, 7, 8])]
        line = fields[0] + "".join(blank() + field for field in fields[1:])
        if not tidy and rng.random() < 0.2:
            line = blank() + line + blank()
        if rng.random() < 0.1:
            line = (
                rng.choice(["", " ", "\t", "# 1 2 3 4", " # 1 2 3 4 5", "#"])
                + end
                + line
            )
        lines.append(line)
    text = end.join(lines) + end * rng.randint(1, 2)
    mark = rng.choice(["", "", "\ufeff"])
    data = (mark + text).encode()
    return data.replace(b"\xc3", b"\xff") if rng.random() < 0.02 else data


@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_fuzz_against_a_plain_parser(put, monkeypatch, kind):
    counts, number = {"run": ((5, 6), 4), "qrels": ((4,), 3)}[kind]
    good = wrong = 0
    for seed in range(75):
        rng = random.Random(f"{kind}{seed}")
        data = made_up(rng, kind)
        monkeypatch.setattr(blocks, "BLOCK", rng.choice([150, 400, 1 << 20]))
        packed = zipped(data) if rng.random() < 0.2 else data
        path = put(f"{kind}{seed}", packed)
        expected = read_plainly(data, counts, number)
        if not data.removeprefix(b"\xef\xbb\xbf"):
            continue
        lf = scan(path, kind=kind)
        columns = lf.collect_schema().names()
        some = rng.sample(columns, rng.randint(1, len(columns)))
        engine = rng.choice(ENGINES)
        if isinstance(expected, int):
            with pytest.raises(DataError) as caught:
                lf.select(some).collect(engine=engine)
            assert str(caught.value).startswith(f"{path}, line {expected}: "), seed
            wrong += 1
            continue
        if kind == "run":
            padded = [(*row, None)[:6] for row in expected]
            expected = [(q, d, s, t) for q, _, d, _, s, t in padded]
        frame = pl.DataFrame(expected, schema=lf.collect_schema(), orient="row")
        assert_frame_equal(lf.select(some).collect(engine=engine), frame.select(some))
        good += 1
    assert good > 25
    assert wrong > 10


# --- Lazy, streaming, pushed down ---------------------------------------------------


def test_plan_streams_and_projects(put):
    lf = scan_trec_run(put("a.run", RUN))
    plan = lf.group_by("query_id").agg(pl.col("score").sum())
    graph = plan.show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    assert graph is not None
    nodes = graph.partition("Legend")[2].partition("\n")[2]
    assert "python-scan" in nodes
    assert "0.0 0.3 1.0" not in nodes
    assert "PROJECT 2/4 COLUMNS" in plan.explain()
    assert "TREC run" in plan.explain()


@pytest.mark.parametrize("engine", ENGINES)
def test_pushdown_keeps_the_answer(put, engine, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 200)
    rows = [(str(i // 7), f"d{i}", float(i), f"s{i % 3}") for i in range(100)]
    data = "".join(f"{q} Q0 {d} 1 {s} {t}\n" for q, d, s, t in rows).encode()
    lf = scan_trec_run(put("a", data))
    want = pl.DataFrame(rows, schema=lf.collect_schema(), orient="row").lazy()
    for plan in (
        lambda f: f.select(pl.len()),
        lambda f: f.with_row_index().select("index"),
        lambda f: f.select(pl.lit(1), pl.col("score")),
        lambda f: f.head(23),
        lambda f: f.head(0),
        lambda f: f.tail(5),
        lambda f: f.slice(30, 20),
        lambda f: f.head(50).filter(pl.col("system") == "s1").select("doc_id"),
        lambda f: f.filter(pl.col("system") == "s1").head(5).select("doc_id"),
        lambda f: f.filter(pl.col("score") > 500),
        lambda f: f.join(f, on=["query_id", "system"]).sort("doc_id", "doc_id_right"),
    ):
        got = plan(lf).collect(engine=engine)
        assert_frame_equal(got, plan(want).collect(engine=engine))


def test_head_stops_early(put, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    path = put("a", RUN * 1000 + b"bad line\n")
    assert scan_trec_run(path).head(10).collect(engine="streaming").height == 10


# --- Other formats ------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", ["a.parquet", "a.csv", "a.ndjson", "a.jsonl", "a.arrow"]
)
def test_written_and_scanned_again(tmp_path, name, engine):
    write(TABLE.lazy(), tmp_path / name)
    got = scan(tmp_path / name, kind="run").collect(engine=engine)
    assert_frame_equal(got, TABLE)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a.ipc", "a.feather", "a.ARROW"])
def test_arrow_by_other_names(put, name):
    assert_frame_equal(scan(put(name, arrow()), kind="run").collect(), TABLE)


def test_text_tables(put):
    csv = b"query_id,doc_id,score,age\n007,1,2,5\n7,x,2.5,6\n"
    want = [("007", "1", 2.0, 5), ("7", "x", 2.5, 6)]
    for path in (
        put("a.csv", csv),
        put("a.csv.gz", zipped(csv)),
        put("a.tsv", csv.replace(b",", b"\t")),
        put("a[1]*.csv", csv),
    ):
        assert scan(path, kind="run").collect().rows() == want


def test_json_scores_are_floats_all_along(put):
    data = b'{"query_id":"1","score":1}\n' * 300 + b'{"query_id":"1","score":1.5}\n'
    for path in (
        put("a.ndjson", data),
        put("b.jsonl.gz", zipped(data)),
        put("a[1].ndjson", data),
    ):
        scores = scan(path, kind="run").collect()["score"]
        assert scores.dtype == pl.Float64
        assert scores.sum() == 301.5


def test_hive_folders_and_globs(put, tmp_path):
    for system in ("bm25", "dense"):
        put(f"runs/system={system}/0.parquet", parquet())
    want = pl.concat(TABLE.with_columns(system=pl.lit(s)) for s in ("bm25", "dense"))
    folder = tmp_path / "runs"
    for source in (folder, f"{folder}/*/*.parquet", f"{folder}/**/*.parquet"):
        assert_frame_equal(scan(source, kind="run").collect(), want)
    put("runs/_SUCCESS", b"")
    put("runs/_tmp/0.parquet", b"half")
    put("runs/.0.parquet.crc", b"x")
    assert_frame_equal(scan(folder, kind="run").collect(), want)


def test_plain_folder_of_parquet(put, tmp_path):
    put("runs/a.parquet", parquet())
    put("runs/b.parquet", parquet())
    got = scan(tmp_path / "runs", kind="run").collect()
    assert_frame_equal(got, pl.concat([TABLE, TABLE]))


def test_folder_of_trec_runs(put, tmp_path):
    put("runs/a", RUN)
    put("runs/b.gz", zipped(RUN.replace(b" a\n", b" b\n")))
    want = [*ROWS, *((q, d, s, "b") for q, d, s, _ in ROWS)]
    assert scan(tmp_path / "runs", kind="run").collect().rows() == want
    assert scan(f"{tmp_path}/runs/*", kind="run").collect().rows() == want


def test_a_name_with_brackets_is_a_name(put):
    path = put("run[1].parquet", parquet())
    assert_frame_equal(scan(path, kind="run").collect(), TABLE)


# --- What is refused right away -----------------------------------------------------


def refused(source, kind: str = "run") -> str:
    with pytest.raises(DataError) as caught:
        scan(source, kind=kind)
    return str(caught.value)


@pytest.mark.parametrize("name", ["no.run", "no.parquet", "no.csv", "no"])
def test_missing_file(tmp_path, name):
    message = refused(tmp_path / name)
    assert f"{tmp_path / name}: no such file" in message
    assert "Check the path" in message


def test_nothing_behind_a_glob_or_folder(tmp_path):
    message = refused(f"{tmp_path}/*.parquet")
    assert f"{tmp_path}/*.parquet: no file matches" in message
    assert "Check the path" in message
    assert f"{tmp_path}: the folder holds no file" in refused(tmp_path)
    with pytest.raises(DataError, match="a folder where one file is expected"):
        scan_trec_run(tmp_path)


@pytest.mark.parametrize("name", ["a.run", "a.parquet", "a.csv", "a.ndjson", "a.arrow"])
def test_empty_file(put, name):
    path = put(name, b"")
    assert refused(path) == f"{path}: the file is empty (0 bytes)."


def test_empty_inside(put):
    for path in (put("a.run.gz", zipped(b"")), put("b", b"\xef\xbb\xbf")):
        assert refused(path) == f"{path}: the file is empty once unpacked."


@pytest.mark.parametrize(
    ("name", "whole"), [("a.parquet", parquet()), ("a.ipc", arrow())]
)
def test_cut_short(put, name, whole):
    for size in (6, 12, len(whole) // 2, len(whole) - 1):
        path = put(name, whole[:size])
        message = refused(path)
        assert f"{path}: the " in message
        assert f"cut short: {size} bytes" in message
        assert "Copy or write it again" in message


def test_cut_short_inside_a_folder(put, tmp_path):
    put("runs/a.parquet", parquet())
    path = put("runs/b.parquet", parquet()[:-3])
    assert f"{path}: the Parquet file is cut short" in refused(tmp_path / "runs")


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("a.parquet", b"hello world, this is text", "found the bytes b'hello wo'"),
        ("a.parquet", arrow(), "found Arrow IPC, expected Parquet"),
        ("a.parquet.gz", zipped(parquet()), "found gzip, expected Parquet"),
        ("a.arrow", b"\xff\xff\xff\xff" * 9, "found an Arrow IPC stream"),
        ("a.csv", parquet(), "found Parquet, expected CSV"),
        ("a.ndjson", b"1 Q0 d\n", "cannot be read as NDJSON"),
        ("a.parquet", b"PAR1" + b"x" * 40 + b"PAR1", "cannot be read as Parquet"),
    ],
)
def test_not_what_the_name_says(put, name, data, found):
    path = put(name, data)
    message = refused(path)
    assert message.startswith(f"{path}: ")
    assert found in message
    assert "after its format" in message


def test_mixed_folder(put, tmp_path):
    put("runs/a.parquet", parquet())
    put("runs/b.csv", b"a,b\n1,2\n")
    message = refused(tmp_path / "runs")
    assert f"{tmp_path / 'runs'}: holds CSV and Parquet" in message
    assert "glob" in message


def test_wrong_arguments(put):
    with pytest.raises(ValueError, match="kind must be 'run' or 'qrels', not 'runs'"):
        scan(put("a", RUN), kind="runs")
    with pytest.raises(ValueError, match="local files"):
        scan("s3://bucket/a.run", kind="run")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
def test_unreadable_file(put):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path = put("a.run", RUN)
    path.chmod(0)
    assert "Check the permissions" in refused(path)


# --- Standard input -----------------------------------------------------------------


class Piped:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (RUN, ROWS),
        (b"# a,b\n" + RUN, ROWS),
        (b"1 Q0 a,b 1 2.5 t\n", [("1", "a,b", 2.5, "t")]),
        (zipped(RUN), ROWS),
        (parquet(), TABLE.rows()),
        (arrow(), TABLE.rows()),
        (TABLE.write_csv().encode(), TABLE.rows()),
        (b"\xef\xbb\xbf" + TABLE.write_csv().encode(), TABLE.rows()),
        (zipped(TABLE.write_csv().encode()), TABLE.rows()),
        (TABLE.write_ndjson().encode(), TABLE.rows()),
        (b"\n " + TABLE.write_ndjson().encode(), TABLE.rows()),
    ],
)
def test_standard_input_is_told_by_its_bytes(monkeypatch, data, rows):
    monkeypatch.setattr(sys, "stdin", Piped(data))
    assert scan("-", kind="run").collect().rows() == rows


def test_standard_input_in_messages(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Piped(RUN + b"1 2\n"))
    assert fails("-").startswith("standard input, line 3: found 2 fields")
    message = refused("-")
    assert message.startswith("standard input: empty (0 bytes)")
    assert "only once" in message


@pytest.mark.slow
def test_the_copy_of_standard_input_goes(tmp_path):
    code = (
        "import os; from polars_rank.io import scan;"
        "lf = scan('-', kind='run');"
        f"(name,) = os.listdir({str(tmp_path)!r});"  # a folder that is swept
        f"print(oct(os.stat(os.path.join({str(tmp_path)!r}, name)).st_mode)[-3:]);"
        "print(lf.collect().height)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=RUN,
        capture_output=True,
        check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.stdout.split() == [b"700", b"2"]
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(
        [sys.executable, "-c", f"open({str(path)!r}, 'wb').write({parquet()!r})"]
    ):
        lf = scan(path, kind="run")
    assert_frame_equal(lf.collect(), TABLE)


# --- Writing ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a", "a.csv.gz", "a.run"])
def test_write_knows_its_formats(tmp_path, name):
    with pytest.raises(ValueError, match=r"\.parquet, \.arrow, \.ipc"):
        write(TABLE, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_write_needs_the_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write(TABLE, tmp_path / "no" / "a.csv")


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_write_leaves_the_old_file_whole(put, tmp_path, monkeypatch, name, error):
    path = put(name, b"old")

    def stop(*_):
        raise error("stop")

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(error):
        write(TABLE, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", OUTPUTS)
def test_write_of_bad_rows_leaves_the_old_file_whole(put, tmp_path, name):
    path = put(name, b"old")
    run = put("in/a.run", RUN * 1000 + b"1 2 3\n")
    with pytest.raises(DataError, match=r"a\.run, line 2001: found 3 fields"):
        write(scan_trec_run(run), path)
    assert path.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "in"])


def test_write_cleans_up_after_a_second_interrupt(put, tmp_path, monkeypatch):
    path = put("a.parquet", b"old")
    join, remove = threading.Thread.join, Folder._remove
    calls, begun = [], threading.Event()

    def interrupted(self, timeout=None):
        calls.append(self)
        if len(calls) == 1:
            begun.set()
            raise KeyboardInterrupt
        join(self, timeout)

    def removed(self):  # not before somebody waits for it
        begun.wait(timeout=10)
        remove(self)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    monkeypatch.setattr(Folder, "_remove", removed)
    with pytest.raises(KeyboardInterrupt):
        write(TABLE, path)
    assert calls
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_write_replaces_and_follows_links(put, tmp_path):
    path = put("a.parquet", b"old")
    link = tmp_path / "link.parquet"
    link.symlink_to(path)
    write(TABLE, link)
    assert link.is_symlink()
    assert_frame_equal(pl.read_parquet(path), TABLE)
    write(scan(path, kind="run").head(1), path)  # onto the very file that is read
    assert_frame_equal(pl.read_parquet(path), TABLE.head(1))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
@pytest.mark.parametrize("name", OUTPUTS)
def test_write_keeps_the_permissions(put, name):
    path = put(name, b"old")
    for mode in (0o600, 0o640):
        path.chmod(mode)
        write(TABLE, path)
        assert path.stat().st_mode & 0o7777 == mode
        assert_frame_equal(scan(path, kind="run").collect(), TABLE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", OUTPUTS)
def test_write_into_a_pipe(tmp_path, name):
    """It stays one, and its reader gets the whole file."""
    path, whole = tmp_path / f"pipe-{name}", tmp_path / name
    write(TABLE, whole)
    os.mkfifo(path)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as reader:
        write(TABLE, path)
        assert reader.stdout.read() == whole.read_bytes()
    assert path.is_fifo()
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, name])


def test_what_a_killed_process_left_is_removed(tmp_path):
    child = f"""
import os, polars as pl
from polars_rank.io import write
def die(frame):
    os.kill(os.getpid(), 9)
write(pl.LazyFrame({{"a": [1]}}).map_batches(die), {str(tmp_path / "out.csv")!r})
"""
    assert subprocess.run([sys.executable, "-c", child], check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    write(pl.DataFrame({"a": [1]}), tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("extension", extensions())
def test_every_format_is_written_read_and_documented(tmp_path, extension):
    """A row of the table is all that a format needs."""
    path = tmp_path / f"log{extension}"
    frame = pl.DataFrame(
        {"query_id": [7, 7], "doc_id": [1, 2], "score": [2.0, 1.0], "label": [0, 1]}
    )
    write(frame, path)
    format = format_of(path)
    assert format is not None
    if format.magic is not None:
        assert path.read_bytes().startswith(format.magic)
        assert path.read_bytes().endswith(format.magic)
    rows = scan(path, kind="run").collect()
    assert rows.columns == frame.columns
    assert rows["query_id"].dtype.is_integer() == format.typed
    assert rows["score"].to_list() == [2.0, 1.0]
    guide = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
    assert format.name in guide.read_text(), "name it in docs/guide/command-line.md"
