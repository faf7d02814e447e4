"""Conventions are values; each of their choices changes what it says."""

from __future__ import annotations

import dataclasses
import inspect
import re
from math import log2
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import polars as pl
import pytest
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.conventions.choices import CHOICES
from polars_rank.conventions.explain import explanation
from polars_rank.conventions.tools import DEFAULT, TOOLS, complete_arguments
from polars_rank.core.metric.registry import METRICS as ALL

TREC = pr.CONVENTIONS["trec_eval"]
RUN = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0]})
QRELS = pl.DataFrame(
    {"query_id": 1, "doc_id": ["a", "b", "z"], "label": [0.0, 1.0, 2.0]}
)


def value(measure, convention, qrels=QRELS, **options):
    table = pr.per_query(RUN, measure, qrels=qrels, convention=convention, **options)
    return table[table.columns[-1]].item()


@pytest.mark.parametrize("name", TOOLS)
def test_a_convention_is_a_value(name):
    convention = pr.CONVENTIONS[name]
    assert convention.name == name
    assert repr(convention).startswith(f"Convention(name={name!r}, ")
    assert eval(repr(convention), {"Convention": pr.Convention}) == convention
    assert hash(convention.replace(name=name)) == hash(convention)
    changed = convention.replace(rel=2)
    assert changed != convention
    assert changed.name == f"{name}*"


def test_an_unknown_convention_is_told_what_comes_closest():
    with pytest.raises(KeyError, match="unknown convention 'lightgm'; did you mean"):
        _ = pr.CONVENTIONS["lightgm"]
    with pytest.raises(KeyError, match="known: trec_eval, trec_eval_9"):
        _ = pr.CONVENTIONS["zzzzzz"]
    assert pr.CONVENTIONS.get("lightgm") is None
    with pytest.raises(ValueError, match="did you mean 'lightgbm'"):
        pr.explain("ndcg", convention="lightgm")


def test_a_convention_states_every_choice():
    fields = {f.name: f for f in dataclasses.fields(pr.Convention)}
    assert fields.keys() == {"name", *CHOICES, "exceptions"}
    for name in ("name", *CHOICES):
        assert fields[name].default is dataclasses.MISSING
    with pytest.raises(TypeError, match="missing 17 required"):
        pr.Convention()


@pytest.mark.parametrize("name", ALL)
def test_a_default_is_said_once(name):
    """A disputed choice in the convention, all else in the metric's signature."""
    chosen = pr.CONVENTIONS[DEFAULT].defaults(name)
    assert not chosen.keys() & ALL[name].defaults.keys(), (
        "leave out the default in the signature: conventions decide it"
    )
    assert chosen.keys() | ALL[name].defaults.keys() == ALL[name].parameters.keys(), (
        "give every other parameter a default in the signature"
    )
    assert pr.CONVENTIONS[DEFAULT].exceptions == ()


def test_a_choice_that_a_metric_does_not_allow_is_the_default_one():
    metric = ALL["nerr"]
    assert "ideal" not in pr.CONVENTIONS["rectools"].defaults("nerr")
    filled = complete_arguments(metric, convention=pr.CONVENTIONS["rectools"])
    assert filled["ideal"] == pr.CONVENTIONS[DEFAULT].ideal


@pytest.mark.parametrize("name", CHOICES)
def test_the_table_of_choices_has_the_values_of_the_types(name):
    hint = get_type_hints(pr.Convention)[name]
    literals = [hint] if get_origin(hint) is Literal else get_args(hint)
    named = {
        v for part in literals if get_origin(part) is Literal for v in get_args(part)
    }
    choice = CHOICES[name]
    assert choice.values.keys() == named
    assert all([choice.decides, *choice.values.values()])
    assert bool(choice.others) == (get_origin(hint) is not Literal)


@pytest.mark.parametrize("name", CHOICES)
def test_the_docstring_of_a_convention_has_every_choice(name):
    attributes = inspect.getdoc(pr.Convention).partition("Attributes\n")[2]
    terms = re.findall(r"^\w[\w, ]*$", attributes, re.MULTILINE)
    assert name in {word for term in terms for word in term.split(", ")}
    if name not in ("gain", "discount", "ideal", "max_grade") and "div" not in name:
        for value in CHOICES[name].values:
            assert f'"{value}"' in attributes


def test_no_two_conventions_are_the_same_but_those_of_one_program():
    """BEIR and MTEB call pytrec_eval, which is trec_eval 9."""
    alike: dict[pr.Convention, list[str]] = {}
    for name, convention in pr.CONVENTIONS.items():
        alike.setdefault(convention.replace(name=""), []).append(name)
    several = [names for names in alike.values() if len(names) > 1]
    assert several == [["trec_eval_9", "beir", "mteb"]]


@pytest.mark.parametrize("name", TOOLS)
def test_every_claim_has_its_test(name):
    """A tool's parity tests go through all metrics it is said to equal."""
    tool, tests = TOOLS[name], Path(__file__).parents[1] / "parity"
    assert tool.compared.keys() <= ALL.keys()
    if name != "trec_eval":  # tests/metrics/test_golden.py
        texts = "".join(path.read_text() for path in tests.glob("test_*.py"))
        assert f'TOOLS["{name}"]' in texts
    texts = "".join(path.read_text() for path in tests.glob("test_*_lists.py"))
    assert all(own.partition(" ")[0] in texts for own in tool.lists.values())


@pytest.mark.parametrize("name", TOOLS)
def test_all_measures_work_under_every_convention(name):
    convention = pr.CONVENTIONS[name]
    measures = [m for m in TOOLS[name].equal if m in METRICS]
    found = pr.per_query(RUN, measures, qrels=QRELS, convention=convention)
    assert found.columns == ["query_id", *measures]


LOG2 = 1 / log2(3)  # the weight of rank 2
CLOSE = 1 + 2**-40  # as float32 it is 1


@pytest.mark.parametrize(
    ("name", "measure", "scores", "labels", "wanted"),
    [
        ("trec_eval", "rr", [1, 1], [1, 0], 1 / 2),  # the larger id first
        ("msmarco", "rr", [1, 1], [1, 0], 1),
        ("ranx", "rr", [1, 1], [1, 0], 1),
        ("replay", "rr", [1, 1], [1, 0], 1 / 2),
        ("sklearn", "dcg", [1, 1], [1, 0], (1 + LOG2) / 2),
        ("catboost", "dcg", [1, 1], [1, 0], LOG2),
        ("trec_eval", "rr", [CLOSE, 1], [1, 0], 1),
        ("trec_eval_9", "rr", [CLOSE, 1], [1, 0], 1 / 2),
        ("ir_measures", "rr", [CLOSE, 1], [1, 0], 1 / 2),
        ("xgboost", "dcg", [1, CLOSE], [1, 0], 1),
        ("torchmetrics", "rr", [1, CLOSE], [1, 0], 1),
        ("trec_eval", "dcg", [2, 1], [2, 1], 2 + LOG2),
        ("gdeval", "dcg", [2, 1], [2, 1], 3 + LOG2),
        ("lightgbm", "dcg", [2, 1], [2, 1], 3 + LOG2),
        ("elasticsearch", "dcg", [2, 1], [2, 1], 3 + LOG2),
        ("recommenders", "dcg", [2, 1], [2, 1], 1 + LOG2),
        ("lenskit", "dcg", [2, 1], [2, 1], 1 + 1),
        ("rectools", "ndcg@2", [1], [1], 1 / (1 + LOG2)),
        ("spark", "ndcg@2", [1], [1], 1),
        ("trec_eval", "precision@2", [1], [1], 1 / 2),
        ("elasticsearch", "precision@2", [1], [1], 1),
        ("xgboost", "precision@2", [1], [1], 1),
        ("catboost", "precision@2", [1], [1], 1),
        ("lenskit", "precision@2", [1], [1], 1),
        ("trec_eval", "recall@1", [2, 1], [1, 1], 1 / 2),
        ("lenskit", "recall@1", [2, 1], [1, 1], 1),
        ("trec_eval", "ap@2", [3, 2, 1], [1, 0, 1], 1 / 2),
        ("lightgbm", "ap@1", [3, 2, 1], [1, 0, 1], 1),
        ("spark", "ap@1", [3, 2, 1], [1, 0, 1], 1),
        ("torchmetrics", "ap@2", [3, 2, 1], [1, 0, 1], 1),
        ("catboost", "rr", [2, 1], [0.5, 1], 1 / 2),
        ("catboost", "rr", [2, 1], [0.75, 0], 1),
        ("trec_eval", "ndcg", [1], [0], 0),
        ("sklearn", "ndcg", [1], [0], 0),
        ("lightgbm", "ndcg", [1], [0], 1),
        ("xgboost", "ndcg", [1], [0], 1),
        ("xgboost", "precision", [1], [0], 0),
        ("catboost", "ndcg", [1], [0], 1),
        ("catboost", "recall", [1], [0], 1),
        ("catboost", "ap", [1], [0], 0),
        ("recommenders", "ndcg", [1], [0], None),
        ("spark", "ndcg", [1], [0], 0),
        ("lenskit", "ndcg", [1], [0], None),
        ("lenskit", "dcg", [1], [0], 0),
        ("sentence_transformers", "rr", [1, 1], [1, 0], 1),
        ("sentence_transformers", "ap@1", [3, 2, 1], [1, 0, 1], 1),
        ("mteb", "rr", [1, 1], [1, 0], 1 / 2),
        ("beir", "rr", [CLOSE, 1], [1, 0], 1 / 2),
        ("recbole", "ap@1", [3, 2, 1], [1, 0, 1], 1),
        ("recbole", "ndcg", [1], [0], None),
        ("evidently", "dcg", [2, 1], [2, 0.5], 2 + 0.5 * LOG2),
        ("evidently", "rr", [2, 1], [0, 0.5], 1 / 2),
        ("evidently", "precision@2", [1], [1], 1),
        ("evidently", "ap", [1], [0], None),
        ("opensearch", "dcg", [2, 1], [2, 1], 3 + LOG2),
        ("opensearch", "rr", [2, 1], [0, 0.25], 1 / 2),
        ("opensearch", "precision@2", [1], [1], 1),
        ("quepid", "dcg", [2, 1], [2, 1], 3 + LOG2),
        ("quepid", "cg", [2, 1], [2, 1], 3),
        ("quepid", "err", [1], [3], 7 / 8),
        ("quepid", "ap", [1], [0], 0),
        ("mlflow", "dcg", [2, 1], [2, 1], 1 + LOG2),
        ("mlflow", "precision@2", [1], [1], 1),
        ("ragas", "ap", [3, 2, 1], [0, 1, 0], 1 / 2),
        ("ragas", "recall", [1], [0], None),
        ("ragas", "precision@2", [1], [1], 1),
        ("deepeval", "ap@2", [3, 2, 1], [1, 0, 1], 1),
        ("deepeval", "precision@2", [1], [1], 1 / 2),
        ("haystack", "dcg", [2, 1], [2, 1], 2 + LOG2),
        ("haystack", "ap@2", [3, 2, 1], [1, 0, 1], 1 / 2),
        ("trulens", "precision@2", [1], [1], 1),
        ("trulens", "ndcg", [1], [0], None),
        ("llamaindex", "dcg", [2, 1], [2, 1], 1 + LOG2),
        ("llamaindex", "precision@2", [1], [1], 1),
    ],
)
def test_choices_of_the_tools(name, measure, scores, labels, wanted):
    """Small lists on which tools disagree; tests/parity compares with the tools."""
    ids = {"query_id": 1, "doc_id": list("abc"[: len(scores)])}
    log = pl.DataFrame({**ids, "score": scores, "label": labels}, strict=False)
    found = pr.per_query(log, measure, convention=name)[measure].item()
    assert found == (wanted if wanted is None else pytest.approx(wanted))


def test_a_short_list_has_a_short_ideal_where_the_tool_does_so():
    """One of two relevant documents is retrieved, and nothing else."""
    run = RUN.tail(1)
    for name in ("mlflow", "elasticsearch"):
        found = pr.per_query(run, "ndcg@5", qrels=QRELS, convention=name)
        gain = 1 if name == "mlflow" else (2**1 - 1) / (2**2 - 1)
        assert found["ndcg@5"].item() == gain
    for name in ("haystack", "trulens"):
        found = pr.per_query(run, "ndcg@5", qrels=QRELS, convention=name)
        assert found["ndcg@5"].item() == pytest.approx(1 / (2 + 1 / log2(3)))


def test_copies_where_the_tool_counts_them_once():
    twice = pl.concat([RUN, RUN.with_columns(score=pl.lit(0.0))])
    for name in ("haystack", "trulens"):
        found = pr.per_query(twice, "recall", qrels=QRELS, convention=name)
        assert found["recall"].item() == 1 / 2
    with pytest.raises(pr.DataError, match="duplicate documents"):
        pr.per_query(twice, "recall", qrels=QRELS, convention="mlflow")


def test_an_empty_list_is_an_error_where_the_tool_refuses_it():
    asked = pl.concat([QRELS, QRELS.with_columns(query_id=pl.lit(2, pl.Int32))])
    with pytest.raises(pr.DataError, match="missing from the run"):
        pr.per_query(RUN, "ndcg", qrels=asked, convention="llamaindex")


def test_pool_of_the_retrieved():
    rows = TREC.replace(judgments="retrieved")
    assert value("ndcg", rows) == pytest.approx(1 / log2(3))
    assert value("recall", rows) == 1 / 1
    assert value("ap", rows) == 1 / 2
    assert value("nerr", rows) == pytest.approx(1 / 2)
    assert value("recall", TREC) == 1 / 2
    ranked = RUN.with_columns(rank=pl.Series([None, 1]), label=pl.Series([1, 1]))
    found = pr.per_query(ranked, "recall", rank="rank", doc=None, convention=rows)
    assert found["recall"].item() == 1 / 1


def test_pool_of_the_retrieved_in_a_measure_of_ones_own():
    mine = {"relevant": lambda r: r.relevant_count()}
    assert value(mine, TREC) == 2
    assert value(mine, TREC.replace(judgments="retrieved")) == 1


@pytest.mark.parametrize("check", ["strict", "off"])
def test_negative_grades_that_are_refused(check):
    refuse = TREC.replace(negative_grade="error")
    assert value("ndcg", refuse) == value("ndcg", TREC)
    minus = QRELS.with_columns(label=pl.Series([-1.0, 1.0, 2.0]))
    assert value("ndcg", TREC, minus) == value("ndcg", TREC)
    log = RUN.with_columns(label=pl.Series([-1, 1]))
    for options in ({"qrels": minus}, {}):
        frame = RUN if options else log
        with pytest.raises(pr.DataError, match="raise them to 0"):
            pr.evaluate(frame, "ndcg", convention=refuse, check=check, **options)


LEVELED = [
    name
    for name, metric in METRICS.items()
    if any(p.meaning == "rel" for p in metric.parameters.values())
]


@pytest.mark.parametrize("name", LEVELED)
def test_every_name_follows_the_level_of_the_evaluation(name):
    """As if each measure had it; no name of another tool holds on to its own."""
    log = pl.DataFrame(
        {
            "query_id": [1] * 6 + [2] * 4 + [3] * 3,
            "score": [6, 5, 4, 3, 2, 1, 4, 3, 2, 1, 3, 2, 1],
            "label": [0, 2, 1, 3, 0, 2, 1, 3, 0, 2, 1, 1, 0],
        }
    )
    level = METRICS[name].named("rel")
    for alias in [name, *METRICS[name].aliases]:
        measure = pr.measure(alias, name="follows")
        assert level not in measure.arguments, alias
        given = pr.measure(alias, name="given", **{level: 2})
        found = pr.per_query(log, [measure, given], rel=2)
        assert found["follows"].to_list() == found["given"].to_list(), alias


def test_exceptions_hold_for_one_metric():
    none = QRELS.with_columns(label=0.0)
    one = TREC.replace(exceptions={"recall": {"no_relevant": "one"}})
    assert (value("recall", one, none), value("ap", one, none)) == (1, 0)
    null = TREC.replace(exceptions={"recall": {"no_relevant": "null"}})
    means = pr.evaluate(RUN, ["recall", "ap"], qrels=none, convention=null)
    assert means.row(0) == (1, None, 0)
    cut = TREC.replace(exceptions={"ap": {"divisor": "hits"}, "dcg": {"gain": "exp2"}})
    assert (value("ap", cut), value("dcg", cut)) == (1 / 2, pytest.approx(1 / log2(3)))
    again = TREC.replace(
        exceptions={"dcg": {"gain": "exp2"}, "ap": {"divisor": "hits"}}
    )
    assert again == cut


def test_an_exception_for_a_measure_of_subtopics():
    judged = pl.DataFrame(
        {"query_id": 1, "doc_id": "a", "subtopic": "x", "label": [0.0]}
    )
    one = TREC.replace(exceptions={"alpha_ndcg": {"no_relevant": "one"}})
    names = ["alpha_ndcg", "err_ia"]
    options = dict(qrels=judged, subtopic="subtopic", convention=one)
    assert pr.per_query(RUN, names, **options).row(0) == (1, 1.0, 0.0)
    deep = TREC.replace(exceptions={"alpha_ndcg": {"alpha": 0.7}})
    assert deep.defaults("alpha_ndcg") == {"rel": 1, "alpha": 0.7}


def test_the_threshold_of_relevance():
    strict = TREC.replace(rel=2)
    assert (value("recall", strict), value("rr", strict)) == (0, 0)
    assert value("ndcg", strict) == value("ndcg", TREC), "gains have their own rel"
    assert value("recall(rel=1)", strict) == 1 / 2


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"judgments": "all"}, "judgments must be one of judged, retrieved, not 'all'"),
        (
            {"negative_grade": "gain"},
            "negative_grade must be one of zero, error, not 'gain'",
        ),
        ({"rel": "1"}, "rel must be a finite number, not '1'"),
        ({"ideal": "best"}, "ideal must be one of judged, retrieved, min_k_n, k"),
        (
            {"exceptions": {"ndgc": {"gain": "exp2"}}},
            "metric 'ndgc'; did you mean 'ndcg'",
        ),
        ({"exceptions": {"ap": {"gain": "exp2"}}}, "ap has no parameter 'gain'"),
        ({"exceptions": {"ap": {"divisor": "n"}}}, "divisor must be one of R, min_k_R"),
        ({"exceptions": {"ap": {"no_relevant": 1}}}, "no_relevant must be one of zero"),
        ({"judgment": "judged"}, "no choice 'judgment'; did you mean 'judgments'"),
    ],
)
def test_what_is_no_choice(choice, words):
    with pytest.raises(ValueError, match=words):
        TREC.replace(**choice)


@pytest.mark.parametrize("convention", pr.CONVENTIONS)
def test_explain_every_metric_under_every_convention(convention):
    for name in ALL:
        said = explanation(name, convention)
        assert all(choice.words for choice in said.choices), name
        text = pr.explain(name, convention=convention)
        summary = ALL[name].summary.replace("``", "")
        assert "see above" not in text, name
        assert text.startswith(f"{name}\n\n{summary}\n")
        for metric, choice, chosen in pr.CONVENTIONS[convention].exceptions:
            assert metric != name or f"  {choice} " in text, name
            assert metric != name or f" {chosen} " in text, name
        agree = {row[0] for row in said.tools if row[2] == "agrees"}
        assert (name in TOOLS[convention].compared) == (convention in agree), name


def test_explain_says_what_differs():
    said = explanation("ndcg(gain=exp2)@10", "lightgbm")
    differs = {name: words for name, _, words in said.tools}
    assert differs["xgboost"] == "differs: score_dtype float32"
    assert "gain" not in differs["catboost"]
    choices = {choice.name: choice for choice in said.choices}
    assert choices["gain"].source == "given"
    assert choices["no_relevant"].source == "lightgbm"
    assert choices["k"].words == "the first 10 documents"


def test_explain_says_what_the_tool_does_besides():
    said = pr.explain("ndcg@10", convention="mlflow")
    assert "  MLflow     Never above 1, but a short list has a short ideal" in said
    assert "24541" not in pr.explain("rr", convention="mlflow"), "which it lacks"
    changed = pr.CONVENTIONS["mlflow"].replace(ties="expected")
    assert "24541" not in pr.explain("ndcg@10", convention=changed)


def test_context_precision_is_a_name_of_average_precision():
    for name in ("context_precision", "ContextPrecision", "contextual_precision@5"):
        assert pr.Measure.parse(name).arguments["divisor"] == "hits"
    assert pr.Measure.parse("context_recall") == pr.Measure.parse("recall")


def test_a_new_value_for_nothing_relevant_holds_for_all_metrics():
    """Those with an exception among them."""
    log = pl.DataFrame({"query_id": 1, "score": [2, 1], "label": [0, 0]})
    for tool in ("lightgbm", "xgboost", "catboost"):
        convention = pr.CONVENTIONS[tool].replace(no_relevant="zero")
        found = pr.per_query(log, ["ndcg", "ap", "precision"], convention=convention)
        assert found.row(0) == (1, 0.0, 0.0, 0.0)


def test_levels_of_recall_are_rounded_as_the_tool_does():
    """Of two relevant documents 0.6 * 2 = 1.2: one in trec_eval 10, in 9 two."""
    late = pl.DataFrame({"query_id": 1, "score": [3, 2, 1], "label": [1, 0, 1]})
    found = {
        tool: pr.per_query(late, "iprec_at_recall_0.60", convention=tool).row(0)[1]
        for tool in ("trec_eval", "trec_eval_9", "ir_measures")
    }
    assert found == {"trec_eval": 1.0, "trec_eval_9": 2 / 3, "ir_measures": 2 / 3}
