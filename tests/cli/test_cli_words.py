"""Messages of the command: its own options, the file at fault, no advice in Python."""

from __future__ import annotations

import inspect
import re
from typing import get_type_hints

import polars as pl
import pytest
from slow import every_other

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.cli.app import _grammar, options
from polars_rank.cli.derive import is_group
from polars_rank.cli.output.words import sentence
from polars_rank.cli.own_words import EXTENSIONS, OWN, SPELT
from polars_rank.core import rules
from polars_rank.core.rules import Rule

LOG = pl.DataFrame(
    [
        ("q1", "a", 3.0, 1),
        ("q1", "b", 2.0, 0),
        ("q2", "c", 5.0, 0),
        ("q2", "d", 4.0, 2),
    ],
    schema=["query_id", "doc_id", "score", "label"],
    orient="row",
)
TABLES = {
    "log": LOG,
    "run": LOG.drop("label"),
    "qrels": LOG.drop("score"),
    "half": LOG.drop("label").head(2),
    "twice": pl.concat([LOG, LOG]),
    "text": LOG.with_columns(score=pl.col("score").cast(pl.String)),
    "tenth": LOG.with_columns(label=pl.col("label") / 10),
    "no_label": LOG.with_columns(label=pl.lit(None, pl.Int64)),
    "docno": LOG.rename({"doc_id": "docno"}),
    "negative": LOG.with_columns(label=-pl.col("label")),
    "null_score": LOG.with_columns(score=pl.lit(None, pl.Float64)),
    "ranked": LOG.with_columns(rank=pl.Series([0, 1, 1, 2])),
    "other_docs": LOG.drop("score").with_columns(doc_id="x" + pl.col("doc_id")),
    "other_queries": LOG.drop("score").with_columns(query_id="x" + pl.col("query_id")),
    "numbered": LOG.drop("score").with_columns(query_id=pl.Series([1, 1, 2, 2])),
    "ranks": LOG.select("query_id", "doc_id", rank=pl.Series([1, 2, 1, 2])),
    "lists": LOG.with_columns(score=pl.concat_list("score")),
    "shuffled": LOG[[0, 2, 1, 3]],
    "users": pl.DataFrame({"query_id": ["q1", "q1", "q3"], "country": list("abc")}),
    "no_query": pl.DataFrame({"qid": ["q1"]}),
    "varies": LOG.with_columns(rr=pl.Series([1, 2, 1, 1])),
}
TEXTS = {
    "bare.csv": "q1,a,3\n",
    "bare6.csv": "q1,0,a,1,3.5,x\n",
    "tab.csv": "q1\ta\t3\n",
    "trec.csv": "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\n",
    "qrels.tsv": "q1 0 a 1\n",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, table in TABLES.items():
        table.write_parquet(folder / f"{name}.parquet")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def said(files, monkeypatch, capsys):
    """What the command says on standard error, without what files are which."""
    monkeypatch.chdir(files)

    def said(line: str) -> str:
        argv = [w if "." in w or "-" in w[:1] else _file(w) for w in line.split()]
        main(argv)
        lines = capsys.readouterr().err.splitlines()
        return "\n".join(x for x in lines if not x.startswith("polars-rank: run: "))

    return said


def _file(word: str) -> str:
    return f"{word}.parquet" if word in TABLES else word


CASES = {
    "evaluate ranks qrels --no-descending": r"or ranks with --rank rank\.$",
    "evaluate lists qrels": "make a row of every document in a list$",
    "evaluate twice": r"--query \(the system, the day\), drop the copies, keep the "
    "best of each with --on-duplicate best, or all ranks with --on-duplicate keep_rank",
    "evaluate run qrels --doc none": "--doc must name",
    "evaluate text": "a numeric column; cast it$",
    "evaluate tenth -m ap": "set --rel to a lower grade",
    "evaluate no_label -m ap": "name the column of grades with --label",
    "evaluate docno": "say --doc docno, or --doc none to go",
    "evaluate negative -m ndcg --convention sklearn": "such as 'trec_eval'",
    "evaluate log -m err(max_grade=1)": r"e\.g\. err\(max_grade=5\)",
    "evaluate null_score": r"the judgments \(--qrels\)",
    "evaluate ranked --rank rank": "--rank counts from 1",
    "evaluate ranked --rank rank --no-descending": "--no-descending is for scores",
    "evaluate run other_docs": "check --doc and",
    "evaluate run other_queries": "check --query and",
    "evaluate half qrels -m ap": "say --missing zero$",
    "evaluate half qrels --missing error": "--missing zero or leave them out with "
    "--missing skip",
    "evaluate shuffled --layout contiguous": "as --layout contiguous claims; use "
    "--layout any",
    "evaluate run numbered": "or as CSV, where all ids are text$",
    "evaluate log --queries users": "users.parquet: --queries has more than one row",
    "evaluate log --segments users --by country": "users.parquet: --segments has more",
    "evaluate log --queries no_query": "no_query.parquet: query column 'query_id' is",
    "evaluate varies --by rr -m ap": "a --by, --weight or --keep column varies",
    "evaluate varies --by rr -m rr": "rename the input column$",
    "evaluate bare.csv": "--run-columns, or read MS MARCO's files with --run-format "
    "msmarco",
    "evaluate run bare.csv": "--qrels-columns, or read .* --qrels-format msmarco",
    "evaluate bare6.csv": "those of a TREC run: --run-format trec",
    "evaluate tab.csv": "Read it with --run-format tsv",
    "evaluate trec.csv": "looks like TREC text: .* --run-format trec",
    "evaluate run qrels.tsv": "looks like TREC text: .* --qrels-format trec",
    "evaluate bare.csv --run-format msmarco": "has 1 field, but MS",
    "evaluate log --run-columns a,b": "--run-columns is for CSV",
    "evaluate log --temp-dir x": "--temp-dir is for bounded memory: give "
    "--memory-limit",
    "evaluate log --memory-limit 1MB": r"--memory-limit must be at least \d+ MB, not",
    "evaluate log --score scroe": "score column 'scroe' is not in the file; did you",
    "evaluate log --memory-limit 2GB --temp-dir x": "--temp-dir must be a folder",
    "evaluate log --max-rank 0": "--max-rank must be a whole number of at least 1, not",
    "evaluate log --max-rank 3 --ties expected": "--max-rank has no mean over the "
    "orders of --ties expected",
    "evaluate log --ties expected -m bpref": "no closed form for --ties expected",
    "evaluate log --rel nan": "--rel must be a finite number",
    "evaluate log -m ap(rel=x)": r"the measure 'ap\(rel=x\)': rel must be",
    "evaluate log -m judged(no_relevant=one)": "'no_relevant' has no effect on judged",
    "evaluate log --subtopic doc_id": "--subtopic names a column of the judgments: "
    "give them with --qrels",
    "evaluate log -m alpha_ndcg": r"judgments \(--qrels\) and name their column with "
    "--subtopic",
    "evaluate run qrels --subtopic label -m ap": "ask for it without --subtopic$",
    "evaluate log --qrels-query a --qrels-query b": "give them with --qrels$",
    "evaluate log --stats std --weight score -m rr": "leave out --weight",
    "compare run twice qrels": r"or all ranks with --on-duplicate keep_rank \(at least",
    "compare log --system query_id -m rr": "'query_id' is the column of the queries; "
    "name that of the systems with --system, or that of the queries with --query",
    "compare run half qrels -m rr --margin 1": "--margin belongs to --test tost",
    "compare run half qrels -m num_ret": "choose others with --measure",
    "compare run half qrels -m rr --missing skip": "leave them out, as --pairs "
    "common of compare does",
    "compare bare.csv qrels -m rr": r"--run-format msmarco\.",
    "clicks report bare.csv": r"--run-format msmarco \(of evaluate\)",
    "audit docno": "or --doc none to go",
    "bounds log -m rr --baseline x": "--baseline names a system: name the column of "
    "systems with --system",
    "bounds log -m rr --universe pool": "--universe pool is for a run and its",
    "bounds log -m rr --max-grade 0": "--max-grade must be",
    "clicks propensities --example --cluster user_id --estimator chain": "--estimator "
    "chain leaves out queries in turn; --cluster is for --estimator poisson",
    "bounds log -m ap --no-relevant skip": r"\(--no-relevant skip\), so labels .* "
    "choose --no-relevant zero or 'one'",
    "bounds log -m ap --doc none": "name the column of their ids with --doc",
    "estimate run qrels --model-qrels qrels --doc none": "of their ids with --doc",
    "bounds log -m ap --unjudged drop": "choose --unjudged nonrelevant",
    "estimate run qrels --model-qrels qrels -m ap --sampled documents": r"have whole "
    r"queries judged \(--sampled queries\), or take dcg",
    "estimate run qrels --model-qrels other_queries -m ap": "no label by the model",
    "power --sd 1": "name --difference, --n-queries or --width",
}


@pytest.mark.parametrize("line", every_other(CASES))
def test_messages_are_in_the_words_of_the_command(said, line):
    err = said(line)
    assert re.search(CASES[line], err, re.MULTILINE), err
    assert "pl." not in err
    assert "pr." not in err
    parameters = inspect.signature(pr.evaluate).parameters
    plain = re.sub(r"'[^'\n]*'", "", err)
    assert not {*re.findall(r"\b([a-z_]+)=", plain)} & {*parameters}
    known = options(line.split()) | options(["evaluate"])
    assert {*re.findall(r"(?<=\s)--[a-z-]+", plain)} <= known


def test_a_log_without_document_ids_is_audited(said, capsys):
    assert said("audit docno --doc none -m ap") == ""


@pytest.mark.parametrize(
    "text",
    ["ap(rel=2)", "the measure 'ap(k=3, rel=2)': no", "(x)rel=2", "polars.rel must be"],
)
def test_what_is_no_argument_stays(text):
    assert sentence(text, options(["evaluate"])) == text


@pytest.mark.parametrize("rule", [r for r in vars(rules).values() if type(r) is Rule])
def test_rules_of_an_evaluation_are_translated(rule):
    names = "|".join(inspect.signature(pr.evaluate).parameters)
    said = sentence(rule.message, options(["evaluate"]))
    assert not re.search(rf"(?<!\w)(?:{names})=", said)


@pytest.mark.parametrize(
    "command", ["audit", "compare", "explain", "clicks sensitivity"]
)
def test_help_has_words_for_values(capsys, command):
    assert main([*command.split(), "--help"]) in (0, None)
    out = capsys.readouterr().out
    assert not re.search(r"CHOICE\|| STR\b", out)


def commands(app):
    for name in app:
        if not name.startswith("-"):
            own = app[name]
            yield from [own.default_command] if own.default_command else commands(own)


def places(owner):
    """The options of a command or a group, as ``own_words`` may call them."""
    for name, hint in get_type_hints(owner).items():
        if is_group(hint):
            for base in hint.__mro__:
                yield from places(base)
        else:
            module = owner.__module__.rpartition(".")[2]
            yield from (name, f"{module}.{name}", f"{owner.__name__}.{name}")


def test_no_word_of_the_command_is_left_over():
    there = {place for own in commands(_grammar("plain")) for place in places(own)}
    assert not OWN.keys() - there
    assert not SPELT.keys() - there
    assert not EXTENSIONS.keys() - there
