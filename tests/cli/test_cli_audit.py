"""The commands audit and bounds: files in, what the functions return out."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.io import scan


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Runs a and b over six queries; judgments of half of the documents."""
    judged = [f"{q} 0 d{d} {(q + d) % 3}\n" for q in range(6) for d in range(3)]
    (tmp_path / "qrels").write_text("".join(judged))
    for name, step in (("a", 1), ("b", 5)):
        lines = [
            f"{q} Q0 d{d} 0 {(d * step + q) % 6} x\n"
            for q in range(6)
            for d in range(6)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    qrels = scan("qrels", kind="qrels")
    return {n: scan(f"{n}.run", kind="run") for n in "ab"}, qrels


def test_audit(files, capsys):
    runs, qrels = files
    command = ["audit", "a.run", "b.run", "qrels", "-m", "ndcg@3", "--choice", "gain"]
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = pr.audit(runs, "ndcg@3", qrels=qrels, choices=["gain"])
    assert found["choices"] == wanted.choices.to_dicts()
    assert {row["system"] for row in found["values"]} == {"a", "b"}
    for format in ("table", "markdown", "latex"):
        assert main([*command, "--format", format]) == 0
        assert "exp2" in capsys.readouterr().out
    assert main([*command]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["value"] for row in rows] == wanted.choices["value"].to_list()


@pytest.mark.slow
def test_bounds(files, capsys):
    runs, qrels = files
    command = ["bounds", "a.run", "qrels", "-m", "ndcg@3", "-m", "ap"]
    assert main(command) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    wanted = pr.bounds(runs["a"], ["ndcg@3", "ap"], qrels=qrels)
    assert [float(row["upper"]) for row in rows] == pytest.approx(wanted["upper"])
    for more, grade in (([], 2), (["--max-grade", "1"], 1)):
        assert main([*command, "--format", "table", *more]) == 0
        out = capsys.readouterr().out
        assert out.startswith("Bounds\n\nmeasure  queries")
        assert out.endswith(f"\nLabels of unjudged documents: 0 to {grade}.\n")
    assert main([*command, "--format", "table", "--over", "ties"]) == 0
    assert "Labels" not in capsys.readouterr().out


@pytest.mark.slow
def test_choices_of_audit_and_bounds_are_options(files, capsys):
    runs, qrels = files
    given = ["a.run", "qrels", "-m", "p_measure", "-m", "precision@4", "--rel", "2"]
    given += ["--no-relevant", "one", "--format", "json"]
    told = {"qrels": qrels, "rel": 2, "no_relevant": "one"}
    measures = ["p_measure", "precision@4"]
    assert main(["bounds", *given]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == pr.bounds(runs["a"], measures, **told).to_dicts()
    assert main(["bounds", *given, "--max-orders", "9"]) == 2
    assert "27 labelings" in capsys.readouterr().err
    assert main(["audit", *given, "--max-rank", "3", "--unjudged", "drop"]) == 0
    found = json.loads(capsys.readouterr().out)["choices"]
    wanted = pr.audit(runs["a"], measures, **told, max_rank=3, unjudged="drop")
    assert found == wanted.choices.to_dicts()


@pytest.mark.slow
@pytest.mark.parametrize("sampled", ["queries", "documents"])
def test_estimate(files, capsys, sampled):
    """Ids are text in a run of TREC, and numbers in the model's labels."""
    runs, qrels = files
    rows = [(q, f"d{d}", (q + d) % 3 // (d + 1)) for q in range(6) for d in range(6)]
    names = ["query", "doc_id", "label"]
    pl.DataFrame(rows, names, orient="row").write_parquet("model.parquet")
    human = qrels.filter(pl.col("query_id").cast(pl.String) < "4").collect()
    human.rename({"query_id": "query"}).write_parquet("human.parquet")
    told = {"sampled": sampled} | ({"share": 0.4} if sampled == "documents" else {})
    command = ["estimate", "a.run", "b.run", "human.parquet", "-m", "precision@2,dcg@3"]
    command += ["--model-qrels", "model.parquet", "--qrels-query", "query", "--rel=2"]
    command += [f"--{name}={value}" for name, value in told.items()]
    assert main([*command, "--level", "0.9", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = pl.DataFrame(rows, ["query_id", "doc_id", "label"], orient="row")
    wanted = pr.estimate(
        {
            n: run.with_columns(pl.col("query_id").cast(pl.String))
            for n, run in runs.items()
        },
        ["precision@2", "dcg@3"],
        qrels=human.with_columns(pl.col("query_id").cast(pl.String)),
        model_qrels=model.with_columns(pl.col("query_id").cast(pl.String)),
        level=0.9,
        rel=2,
        **told,
    )
    assert found == wanted.to_dicts()
    assert main([*command, "--format", "table"]) == 0
    assert capsys.readouterr().out.startswith("Estimates with 95 % intervals\n\nsystem")


def test_bounds_of_distances(files, capsys):
    runs, qrels = files
    far = runs["a"].with_columns(-pl.col("score"))
    far.collect().write_csv("far.csv")
    command = ["bounds", "far.csv", "qrels", "-m", "ndcg@3", "--no-descending"]
    assert main([*command, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    wanted = pr.bounds(runs["a"], "ndcg@3", qrels=qrels).row(0, named=True)
    assert found == pytest.approx(wanted)


def test_bounds_of_a_difference(files, capsys):
    runs, qrels = files
    command = ["bounds", "a.run", "b.run", "qrels", "-m", "ndcg@3", "--baseline", "a"]
    assert main([*command, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    wanted = pr.bounds(runs, "ndcg@3", qrels=qrels, baseline="a").row(0, named=True)
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bounds", "a.run", "qrels", "-m", "judged@3"], "who was judged"),
        (["bounds", "a.run", "b.run", "qrels", "--baseline", "c"], "no system 'c'"),
        (["audit", "a.run", "qrels", "--choice", "tie"], "did you mean 'ties'"),
        (["audit"], "name a FILE"),
    ],
)
def test_usage(files, capsys, arguments, words):
    assert main(arguments) != 0
    assert words in capsys.readouterr().err


def test_duplicates(tmp_path, capsys):
    log = pl.DataFrame(
        {"query_id": [1, 1], "doc_id": ["x", "x"], "score": [2, 1], "label": [1, 1]}
    )
    log.write_parquet(tmp_path / "log.parquet")
    command = ["audit", str(tmp_path / "log.parquet"), "-m", "hits"]
    assert main([*command, "--on-duplicate", "best", "--choice", "on_duplicate"]) == 0
    assert "keep,1.0" in capsys.readouterr().out


COMMANDS = {
    "audit": ["-m", "ndcg@3", "--choice", "gain"],
    "bounds": ["-m", "ndcg@3"],
    "match-report": [],
    "compare": ["-m", "ndcg@3"],
    "evaluate": ["-m", "ndcg@3"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_all_commands_read_files_of_other_names_and_formats(files, capsys, command):
    """Columns without a header; judgments with names of their own; no extension."""
    runs, qrels = files
    columns = ["query_id", "doc_id", "score"]
    several = "ab" if command == "compare" else "a"
    for name in several:
        table = runs[name].select(columns).collect()
        table.write_csv(f"{name}.bare", include_header=False)
    other = qrels.select(topic="query_id", passage="doc_id", grade="label").collect()
    other.write_ndjson("judged")
    asked = COMMANDS[command]
    assert main([command, *(f"{n}.run" for n in several), "qrels", *asked]) == 0
    expected = capsys.readouterr().out
    changed = ["--run-format", "csv", "--run-columns", ",".join(columns)]
    changed += ["--qrels-format", "ndjson", "--qrels-query", "topic"]
    changed += ["--qrels-doc", "passage", "--label", "grade", "--qrels", "judged"]
    assert main([command, *(f"{n}.bare" for n in several), *changed, *asked]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.slow
@pytest.mark.parametrize("command", ["audit", "compare", "evaluate"])
def test_low_scores_or_ranks_may_come_first(files, capsys, command):
    runs, qrels = files
    several = "ab" if command == "compare" else "a"
    for name in several:
        run = runs[name].with_columns(
            far=-pl.col("score"),
            place=pl.col("score").rank(descending=True).over("query_id").cast(pl.Int64),
        )
        run.select("query_id", "doc_id", "score").collect().write_parquet(
            f"{name}.parquet"
        )
        run.drop("score", "system").collect().write_parquet(f"{name}.other.parquet")
    qrels.collect().write_parquet("qrels.parquet")
    asked, outputs = COMMANDS[command], []
    for end, options in (
        ("parquet", []),
        ("other.parquet", ["--score", "far", "--no-descending"]),
        ("other.parquet", ["--rank", "place"]),
    ):
        named = [f"{name}.{end}" for name in several]
        assert main([command, *named, "qrels.parquet", *asked, *options]) == 0
        outputs.append(capsys.readouterr().out.replace(".other", ""))
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["bounds", *map(slow, ("audit", "compare", "evaluate"))]
)
def test_measures_are_separated_by_commas(files, capsys, command):
    outputs = []
    for asked in (["-m", "ndcg@3", "-m", "ap"], ["-m", "ndcg@3,ap"]):
        assert main([command, "a.run", "b.run", "qrels", *asked]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_match_report_is_of_one_run(files, capsys):
    assert main(["match-report", "a.run", "b.run", "qrels"]) == 2
    assert "give one run and its judgments" in capsys.readouterr().err
