"""The largest parts of differences between runs, told as the command tells them."""

from __future__ import annotations

import random
import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank.cli.__main__ import main
from polars_rank.comparison import explained

NAMES = ["query_id", "doc_id", "score"]


def drawn(seed=1, queries=40):
    """A run, one that ranks its best document last, another; judgments."""
    draw = random.Random(seed)
    lists = {"old": {}, "new": {}, "other": {}}
    for i in range(queries):
        docs = draw.sample("abcdefgh", 6)
        lists["old"][f"q{i}"] = docs
        lists["new"][f"q{i}"] = [*docs[1:], docs[0]]
        lists["other"][f"q{i}"] = docs[1::-1] + docs[2:]
    runs = {
        name: pl.DataFrame(
            [(q, d, float(-i)) for q, docs in run.items() for i, d in enumerate(docs)],
            NAMES,
            orient="row",
        )
        for name, run in lists.items()
    }
    qrels = [
        (q, d, 2 if d == docs[0] else draw.randint(0, 1))
        for q, docs in lists["old"].items()
        for d in "abcdefg"
    ]
    return lists, runs, pl.DataFrame(qrels, [*NAMES[:2], "label"], orient="row")


def lost(lists, qrels, run, k):
    """Queries that lost a document of each grade above 0 from the first k."""
    grades = {(q, d): g for q, d, g in qrels.rows()}
    found = {}
    for query, docs in lists["old"].items():
        for doc in {*docs[:k]} - {*lists[run][query][:k]}:
            if grade := grades.get((query, doc)):
                found.setdefault(grade, set()).add(query)
    return {g: len(queries) for g, queries in found.items()}


def test_compare_tells_parts_of_each_difference_if_asked():
    lists, runs, qrels = drawn()
    asked = {"qrels": qrels, "baseline": "old"}
    plain = pr.compare(runs, ["precision@3", "kendall_tau"], **asked)
    assert plain.largest_parts is None
    assert "largest parts" not in str(plain)
    assert "largest_parts" not in plain.to_dict()
    found = pr.compare(
        runs, ["precision@3", "kendall_tau"], largest_parts=True, **asked
    )
    assert found.pairs.equals(plain.pairs)
    for run in ("new", "other"):
        told = {
            int(row["item"].split("grade ")[1][0]): row["queries"]
            for row in found.largest_parts.filter(system=run).to_dicts()
            if row["item"].startswith("lost")
        }
        assert told == lost(lists, qrels, run, 3)
        parts = found.largest_parts.filter(system=run)
        pair = found.pairs.filter(system=run, measure="precision@3")
        whole = pair["difference"].item()  # of documents that are told, all of it
        assert parts["difference"].sum() == pytest.approx(whole, abs=1e-12)
        assert parts["share"].sum() == pytest.approx(1.0) or not whole
    assert found.largest_parts["measure"].unique().to_list() == ["precision@3"]
    note = "The parts of the difference in kendall_tau are not shown: kendall_tau has"
    assert any(text.startswith(note) for text in found.settings["notes"])
    assert found.to_dict()["largest_parts"] == found.largest_parts.to_dicts()
    percent = found.tables(percent=True)[2]
    first = found.largest_parts["difference"][0]
    assert float(percent.rows[0][3].text) == pytest.approx(100 * first, abs=0.005)


def test_ids_of_a_page_are_there_once():
    pytest.importorskip("great_tables")
    _, runs, qrels = drawn()
    html = pr.compare(runs, ["ndcg@3", "rr"], qrels=qrels, largest_parts=True).to_html()
    ids = re.findall(r'id="([^"]+)"', html)
    assert len({*ids}) == len(ids)
    assert "polars-rank-the-largest-parts-of-the-difference-in-ndcg-3" in ids


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, runs, qrels = drawn()
    for name, run in runs.items():
        run.write_parquet(f"{name}.parquet")
    qrels.write_parquet("qrels.parquet")
    return runs, qrels


def test_it_is_the_text_of_the_command(files, capsys):
    runs, qrels = files
    asked = ["old.parquet", "new.parquet", "other.parquet", "qrels.parquet"]
    measures = ["precision@3", "kendall_tau", "ndcg@3"]
    words = [word for name in measures for word in ("-m", name)]
    bases = ["--baseline", "old", "--baseline", "new"]
    found = pr.compare(
        runs, measures, qrels=qrels, baseline=["old", "new"], largest_parts=True
    )
    for form in ("table", "markdown"):
        assert (
            main(
                ["compare", *asked, *words, *bases, "--largest-parts", "--format", form]
            )
            == 0
        )
        shown = str(found) if form == "table" else found.to_markdown()
        assert capsys.readouterr().out == shown + "\n"
    assert "The largest parts of the difference in ndcg@3 from new" in str(found)
    gate = pr.gate(runs["new"], measures, baseline=runs["old"], qrels=qrels)
    assert main(["gate", "old.parquet", "new.parquet", "qrels.parquet", *words]) == 3
    last = str(gate).partition("The largest parts of the difference in precision@3")
    assert "lost a document of grade 2 from the first 3" in last[2]
    assert capsys.readouterr().out.endswith("".join(last[1:]) + "\n")


def test_a_gate_of_runs_is_that_of_their_values():
    _, runs, qrels = drawn()
    asked = {"by": "land", "margin": 0.01, "min_queries": 5}
    lands = qrels.select("query_id").unique().sort("query_id")
    lands = lands.with_columns(land=pl.int_range(pl.len()) % 2)
    values = {
        name: pr.per_query(
            run, "ndcg@3", qrels=qrels, segments=lands, keep="land", ties="expected"
        )
        for name, run in runs.items()
    }
    wanted = pr.gate(values["new"], "ndcg@3", baseline=values["old"], **asked)
    found = pr.gate(
        runs["new"], "ndcg@3", baseline=runs["old"], qrels=qrels, segments=lands,
        ties="expected", **asked,
    )  # fmt: skip
    assert found.verdict == wanted.verdict == "fail"
    assert found.checks.equals(wanted.checks)
    assert found.largest_parts["item"].str.starts_with("land = ").sum() == 2
    assert found.definition.convention["ties"] == "expected"
    assert wanted.largest_parts is None
    same = pr.gate(runs["old"], "ndcg@3", baseline=runs["old"], qrels=qrels)
    assert same.largest_parts is None


def test_nothing_is_read_again_unless_it_is_asked(monkeypatch):
    _, runs, qrels = drawn()

    def refused(question):
        raise AssertionError(question)

    monkeypatch.setattr(explained, "ask", refused)
    str(pr.compare(runs, "ndcg@3", qrels=qrels))
    str(pr.gate(runs["old"], "ndcg@3", baseline=runs["old"], qrels=qrels))
    values = {n: pr.per_query(runs[n], "ndcg@3", qrels=qrels) for n in ("old", "new")}
    assert pr.gate(values["new"], baseline=values["old"]).verdict == "fail"
    with pytest.raises(AssertionError, match="largest parts"):
        pr.compare(runs, "ndcg@3", qrels=qrels, largest_parts=True)


def test_runs_in_one_frame_and_streams():
    _, runs, qrels = drawn()
    asked = {"baseline": "old", "largest_parts": True}
    wanted = pr.compare(runs, "ndcg@3", qrels=qrels, **asked).largest_parts
    stacked = pl.concat(
        run.with_columns(engine=pl.lit(name)) for name, run in runs.items()
    )
    streams = {n: run.to_arrow().to_reader() for n, run in runs.items()}
    for given, judged in (
        (stacked, qrels),
        (stacked.lazy(), qrels.lazy()),
        (stacked.to_arrow().to_reader(), qrels.to_arrow().to_reader()),
        (streams, qrels.to_arrow().to_reader()),
    ):
        column = {} if given is streams else {"system": "engine"}
        found = pr.compare(
            given, "ndcg@3", qrels=judged, **column, **asked
        ).largest_parts
        keys = ["system", "item"]
        assert_frame_equal(found.sort(keys), wanted.sort(keys), abs_tol=1e-12)


def test_measures_of_recommenders_beside_sums():
    _, runs, qrels = drawn()
    asked = {"items": pl.DataFrame({"doc_id": [*"abcdefgh"]}), "largest_parts": True}
    found = pr.compare(runs, ["ndcg@3", "coverage@3"], qrels=qrels, **asked)
    wanted = pr.compare(runs, "ndcg@3", qrels=qrels, largest_parts=True)
    assert_frame_equal(found.largest_parts, wanted.largest_parts, abs_tol=1e-12)
    assert "in coverage@3 are not shown: coverage is" in found.settings["notes"][0]


def test_parts_of_what_is_no_run():
    _, runs, qrels = drawn()
    values = pr.per_query(runs["old"], "rr", qrels=qrels).with_columns(
        system=pl.lit("a")
    )
    with pytest.raises(ValueError, match="largest_parts= needs runs: give a mapping"):
        pr.compare(values, largest_parts=True)
    with pytest.raises(ValueError, match="leave out repeat="):
        pr.compare(runs, "rr", qrels=qrels, largest_parts=True, repeat="seed")
    with pytest.raises(TypeError, match=r"ties= is for runs, .* give qrels="):
        pr.gate(values, baseline=values, ties="expected")
