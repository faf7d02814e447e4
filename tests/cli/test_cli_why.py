"""The commands changes and reasons: files in, what the functions return out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank import analysis
from polars_rank.cli import main
from polars_rank.io import scan


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Runs old, new and other over six queries; judgments; countries."""
    for name, step in (("old", 1), ("new", 5), ("other", 2)):
        lines = [
            f"{q} Q0 d{(d * step + q) % 9} 0 {-d} {name}\n"
            for q in range(6)
            for d in range(6)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    judged = [f"{q} 0 d{d} {(q + d) % 3}\n" for q in range(6) for d in range(5)]
    (tmp_path / "qrels").write_text("".join(judged))
    lands = [f"{q},{'DE' if q % 2 else 'US'}\n" for q in range(6)]
    (tmp_path / "lands.csv").write_text("query_id,land\n" + "".join(lands))
    monkeypatch.chdir(tmp_path)
    runs = {
        n: scan(f"{n}.run").collect().drop("system") for n in ("old", "new", "other")
    }
    return runs, scan("qrels", kind="qrels").collect()


def printed(capsys, *argv) -> list[dict]:
    assert main([*argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_changes(files, capsys):
    runs, qrels = files
    wanted = analysis.changes(runs["old"], runs["new"], 3)
    found = printed(
        capsys, "changes", "old.run", "new.run", "--k", "3", "--table", "queries"
    )
    assert pl.DataFrame(found).equals(wanted.queries.cast(pl.DataFrame(found).schema))
    wanted = analysis.changes(
        runs["old"], {n: runs[n] for n in ("new", "other")}, 3, qrels=qrels
    )
    asked = ["changes", "old.run", "new.run", "other.run", "qrels", "--k", "3"]
    for table in ("summary", "queries", "documents"):
        rows = getattr(wanted, table).to_dicts()
        found = printed(capsys, *asked, "--table", table)
        assert [r.get("system") for r in found] == [r.get("system") for r in rows]
        assert [{*r} for r in found] == [{*r} for r in rows]
    assert found == rows
    assert main(["changes", "old.run", "new.run", "--format", "table"]) == 0
    assert "Changes of the first 10" in capsys.readouterr().out


def test_reasons(files, capsys):
    runs, qrels = files
    lands = pl.read_csv("lands.csv", schema_overrides={"query_id": pl.String})
    wanted = analysis.reasons(
        runs["old"], runs["new"], "dcg@3", qrels=qrels, segments=lands, by="land"
    )
    asked = ["reasons", "old.run", "new.run", "qrels", "-m", "dcg@3"]
    asked += ["--segments", "lands.csv", "--by", "land"]
    for table in ("segments", "queries"):
        found = printed(capsys, *asked, "--table", table)
        assert found == getattr(wanted, table).to_dicts()
    assert main([*asked, "--format", "markdown"]) == 0
    shown = capsys.readouterr().out
    assert "Why dcg@3 moved from" in shown
    assert "dcg@3 by segment" in shown


def test_reasons_of_several_runs(files, capsys):
    runs, qrels = files
    asked = ["reasons", "old.run", "new.run", "other.run", "qrels", "-m", "dcg@3"]
    others = {name: runs[name] for name in ("new", "other")}
    wanted = analysis.reasons(runs["old"], others, "dcg@3", qrels=qrels)
    for table in ("summary", "documents"):
        rows = getattr(wanted, table)
        found = printed(capsys, *asked, "--table", table)
        assert_frame_equal(pl.DataFrame(found, schema=rows.schema), rows)
    assert main([*asked, "--format", "table"]) == 0
    shown = capsys.readouterr().out
    assert "new: Why dcg@3 moved from" in shown
    assert "other: Why dcg@3 moved from" in shown
    assert shown.count("The largest parts") == 1  # of all runs, by their names


def test_compare_tells_the_largest_parts_if_asked(files, capsys):
    runs, qrels = files
    asked = ["compare", "new.run", "old.run", "other.run", "qrels", "-m", "dcg@3"]
    asked += ["-m", "kendall_tau", "--baseline", "old", "--format", "table"]
    lands = ["--queries", "lands.csv", "--by", "land"]
    assert main([*asked, *lands]) == 0
    assert "largest parts" not in capsys.readouterr().out
    assert main([*asked, *lands, "--largest-parts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    others = {name: runs[name] for name in ("new", "other")}
    about = pl.read_csv("lands.csv", schema_overrides={"query_id": pl.String})
    why = analysis.reasons(
        runs["old"], others, "dcg@3", qrels=qrels, by="land", segments=about
    )
    largest = why.largest().select("system", "item", "queries").rows()
    assert any(item.startswith("land = ") for _, item, _ in largest)
    for row in largest:
        assert any(line.split()[:1] == [row[0]] and row[1] in line for line in lines)
    told = "The parts of the difference in kendall_tau are not shown: kendall_tau has"
    assert any(line.startswith(told) for line in lines)
    assert main([*asked[:-1], "json", "--largest-parts"]) == 2
    assert "--format table or markdown" in capsys.readouterr().err
    assert main(["compare", "--example", "--largest-parts", "--format", "table"]) == 2
    assert "name two runs or more, each a FILE" in capsys.readouterr().err


def test_judgments_may_come_from_a_pipe(files, capsys, monkeypatch):
    runs, qrels = files
    wanted = analysis.changes(runs["old"], runs["new"], qrels=qrels).queries
    with Path("qrels").open() as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        rows = printed(
            capsys, "changes", "old.run", "new.run", "-", "--table", "queries"
        )
    assert_frame_equal(pl.DataFrame(rows, schema=wanted.schema), wanted)


def test_json_has_the_summary(files, capsys):
    runs, qrels = files
    for command, function in (("changes", "changes"), ("reasons", "reasons")):
        more = [] if function == "changes" else ["ndcg@10"]
        wanted = getattr(analysis, function)(
            runs["old"], runs["new"], *more, qrels=qrels
        )
        found = printed(capsys, command, "old.run", "new.run", "qrels")
        assert_frame_equal(
            pl.DataFrame(found, schema=wanted.summary.schema), wanted.summary
        )


def test_contributions(files, capsys):
    runs, qrels = files
    wanted = analysis.contributions(runs["new"], "dcg@3", qrels=qrels)
    found = printed(capsys, "contributions", "new.run", "qrels", "-m", "dcg@3")
    assert found == wanted.to_dicts()
    assert main(["contributions", "old.run", "new.run", "qrels"]) == 2
    assert "name one run" in capsys.readouterr().err


def test_slices(files, capsys):
    values = pl.DataFrame({"query_id": range(200)}).with_columns(
        land=pl.when(pl.col("query_id") % 3 == 0)
        .then(pl.lit("DE"))
        .otherwise(pl.lit("US")),
        difference=pl.col("query_id") * 7 % 11 / 10 - pl.col("query_id") % 3 / 3,
    )
    values.write_parquet("values.parquet")
    wanted = analysis.slices(values, ["land"], min_queries=10)
    asked = ["slices", "values.parquet", "--features", "land", "--min-queries", "10"]
    found = printed(capsys, *asked)
    assert found == wanted.to_dicts()
    assert len(found) == 2
    assert main(asked[:2]) == 2
    assert "--features" in capsys.readouterr().err
    days = [values.head(80), values.tail(120)]
    for i, day in enumerate(days):
        day.write_parquet("day.parquet")
        made = ["slices", "day.parquet", "--features", "land", "--features", "query_id"]
        made += ["--edges", "query_id=50,150", "-o", f"{i}.parquet"]
        assert main([*made, "--part", str(i)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0.parquet: 80 queries; land, query_id",
        "1.parquet: 120 queries; land, query_id",
    ]
    wanted = analysis.slices(
        values, ["land", "query_id"], edges={"query_id": [50, 150]}, min_queries=10
    )
    merged = ["slices", "0.parquet", "1.parquet", "--min-queries", "10"]
    assert printed(capsys, *merged) == wanted.to_dicts()
    assert wanted.height
    for wrong, told in (
        ([*merged, "--features", "land"], "0.parquet: holds sums"),
        ([*asked, "--edges", "land"], "--edges is FEATURE=NUMBERS"),
        ([*asked, "--part", "x"], "--part names the sums"),
        (["slices"], "name a FILE"),
    ):
        assert main(wrong) == 2
        assert told in capsys.readouterr().err


def test_to_judge(files, capsys):
    runs, qrels = files
    few = qrels.filter(pl.col("doc_id") < "d3")
    few.select("query_id", pl.lit("0"), "doc_id", "label").write_csv(
        "few", separator=" ", include_header=False
    )
    wanted = analysis.to_judge(runs, "dcg@4", qrels=few, n_judgments=7)
    asked = ["to-judge", "old.run", "new.run", "other.run", "few", "-m", "dcg@4"]
    found = printed(capsys, *asked, "--n-judgments", "7")
    assert found == wanted.to_dicts()
    assert main([*asked, "--n-judgments", "7"]) == 0
    printed_rows = capsys.readouterr().out.splitlines()
    assert printed_rows[0] == ",".join(wanted.columns)
    assert all(row.endswith(",") for row in printed_rows[1:])  # labels to fill in
    single = analysis.to_judge(runs["old"], "dcg@4", qrels=few)
    assert printed(capsys, *asked[:2], "few", "-m", "dcg@4") == single.to_dicts()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["changes", "old.run"], "name two runs or more, the one before the change"),
        (["changes", "old.run", "qrels"], "name two runs or more, and the judgments"),
        (["reasons", "old.run", "new.run"], "name the judgments, last or with --qrels"),
        (["reasons", "old.run", "qrels"], "name two runs or more, and the judgments"),
        (["changes", "old.run", "new.run", "--table", "segments"], "name --by"),
        (["changes", "old.run", "new.run", "-k", "3"], "Did you mean --k?\n"),
        (
            ["reasons", "old.run", "new.run", "qrels", "-m", "ngcd"],
            "did you mean 'ndcg",
        ),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_is_wrong_is_named(argv, told, capsys):
    assert main(argv) == 2
    assert told in capsys.readouterr().err
