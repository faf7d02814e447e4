"""Measures as text, as values, and under other tools' names."""

from __future__ import annotations

import math
import re
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from variants import DISCOUNT, GAIN
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.conventions.tools import TOOLS
from polars_rank.core.parameters import Parameter
from polars_rank.measures import text as measure_text
from polars_rank.measures.measure import parse_measures, split_given


def arguments(parameter: Parameter) -> st.SearchStrategy:
    """What a parameter accepts, by its annotation."""
    if parameter.meaning == "k":
        optional = parameter.allowed.test(None)
        return st.integers(1, 10**6) | (st.none() if optional else st.nothing())
    return of_type(parameter.hint).filter(parameter.allowed.test)


def of_type(hint: Any) -> st.SearchStrategy:
    """Values of a type; some break the rules of a parameter that has it."""
    inside = get_args(hint)
    if hint == GAIN:
        numbers = st.dictionaries(st.integers(0, 5), st.floats(0, 9), min_size=1)
        return st.sampled_from(["linear", "exp2", "binary"]) | numbers
    if hint == DISCOUNT:
        return st.sampled_from(["log2", "log2_from_2", "position"])
    if get_origin(hint) is Literal:
        return st.sampled_from(inside)
    if get_origin(hint) is Annotated:
        return of_type(inside[0])
    if inside:
        return st.one_of([of_type(part) for part in inside])
    return {
        float: st.integers(-3, 9) | st.floats(-5, 5, allow_nan=False),
        int: st.integers(-3, 9),
        bool: st.booleans(),
        NoneType: st.none(),
    }[hint]


@st.composite
def measures(draw):
    name = draw(st.sampled_from(sorted(METRICS)))
    known = METRICS[name].parameters
    names = draw(st.sets(st.sampled_from(sorted(known)))) if known else ()
    return pr.measure(name, **{n: draw(arguments(known[n])) for n in names})


@given(measures())
@settings(max_examples=60, deadline=None)
def test_str_and_parse_are_inverses(measure):
    again = pr.Measure.parse(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure) == again.name


SIGNS = "aAbcdeégGmMnNpPrRsS_ßΣ @(=,).:;-+l019½٣\t\n\0\u2028😀{}[]'\"\\"


@given(st.text(SIGNS, max_size=20) | st.text("acdegnpr@(=,).-l019", max_size=15))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_measure_or_a_clear_error(text):
    try:
        assert pr.Measure.parse(text).name == text
    except ValueError as error:
        assert len(str(error)) > 10  # noqa: PT017  the message matters, not the class


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("nDCG@10", "ndcg@10"),
        ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exp2)@10"),
        ("nDCG(gains={1: 3.5, 2: 9})", "ndcg(gain={1: 3.5, 2: 9})"),
        ("P(rel=2)@5", "precision(rel=2)@5"),
        ("RR@10", "rr@10"),
        ("AP", "ap"),
        ("R@1000", "recall@1000"),
        ("Success@5", "accuracy@5"),
        ("ndcg", "ndcg"),
        ("ndcg_cut_10", "ndcg@10"),
        ("NCRR@5", "ndcg(discount=position, gain=binary)@5"),
        ("INST(T=2.0,min_rel=1,max_rel=3)", "inst(T=2, max_grade=3, min_grade=1)"),
        ("BPM(max_rel=3)@20", "bpm(max_grade=3)@20"),
        ("NERR10(p=0.8,max_rel=3)", "nerr10(max_grade=3, p=0.8)"),
        ("ndcg_cut.10", "ndcg@10"),
        ("P_5", "precision@5"),
        ("recip_rank", "rr"),
        ("map", "ap"),
        ("map_cut_100", "ap@100"),
        ("recall_1000", "recall@1000"),
        ("success_5", "accuracy@5"),
        ("map@100", "ap@100"),
        ("mrr", "rr"),
        ("hit_rate@5", "accuracy@5"),
        ("precision@10", "precision@10"),
        ("ndcg_burges@10", "ndcg(gain=exp2)@10"),
        ("ndcg@10-l2", "ndcg(rel=2)@10"),
        ("mrr-l3", "rr(rel=3)"),
        (" ndcg ( gain = exp2 ) @10 ", "ndcg(gain=exp2)@10"),
        ("set_relative_P.5", "precision(divisor=min_k_R)@5"),
        ("recip_rank_10", "rr@10"),
        ("ndcg_burges_5-l2", "ndcg(gain=exp2, rel=2)@5"),
        ("iprec_at_recall_0.10", "interpolated_precision(recall=0.1)"),
        ("iprec_at_recall.0.35", "interpolated_precision(recall=0.35)"),
        ("IPrec(rel=2)@0.1", "interpolated_precision(recall=0.1, rel=2)"),
        ("Rprec_mult_0.20", "r_precision(multiple=0.2)"),
        ("11pt_avg", "eleven_point_ap"),
        ("utility_1,-1,0,0", "utility(fn=0, fp=-1, tn=0, tp=1)"),
        ("ndcg.1=3.5,2=9", "ndcg(gain={1: 3.5, 2: 9})"),
        ("Rndcg_0=1", "r_ndcg(gain={0: 1})"),
        ("ndcg_p", "ndcg(discount=log2_from_2)"),
        ("set_F.0.5", "f_measure(x=0.5)"),
        ("rbp.p=0.8", "rbp(p=0.8)"),
        ("rbp.95", "rbp(p=0.95, scale=1)"),
        ("RBP(p=0.5, rel=2)", "rbp(gain=binary, p=0.5, rel=2)"),
        ("RBP(rel=1)@10", "rbp(gain=binary, p=0.8, rel=1)@10"),
        ("NumRet(rel=2)", "num_ret(rel=2)"),
        ("num_rel_ret", "num_rel_ret"),
        ("Judged@10", "judged@10"),
        ("unj_5", "unjudged@5"),
        ("binG", "binary_g_measure"),
        ("P_05", "precision@5"),
        ("HR@10", "accuracy@10"),
        ("HitRate@10", "accuracy@10"),
        ("HitRate", "accuracy"),
        ("CV_Recall@10", "accuracy@10"),  # MTEB's, for images
        ("ContextPrecision", "ap(divisor=hits)"),
        ("context_precision@5", "ap(divisor=hits)@5"),
        ("ContextualPrecision", "ap(divisor=hits)"),
        ("context_recall", "recall"),
        ("full_recall@10", "full_recall@10"),
        ("FullRecall@10", "full_recall@10"),
        ("Hole@10", "hole@10"),
        ("Hole_at_10", "hole@10"),
        ("recall_cap@10", "recall(divisor=min_k_R)@10"),
        ("R_cap@10", "recall(divisor=min_k_R)@10"),
        ("R_cap_at_10", "recall(divisor=min_k_R)@10"),
        ("hit@3", "accuracy@3"),
        ("hit-ratio@3", "accuracy@3"),
        ("hits_at_3", "accuracy@3"),  # PyKEEN's hit rate
        ("hits@3", "hits@3"),  # ranx's number of hits
        ("Recall@20", "recall@20"),
        ("Precision@5", "precision@5"),
        ("pre@5", "precision@5"),
        ("mAP@5", "ap@5"),
        ("MRR@10", "rr@10"),
        ("RecipRank", "rr"),
        ("mean_average_precision", "ap"),
        ("ndcg_at_10", "ndcg@10"),
        ("map_at_10", "ap@10"),  # as MTEB and BEIR mean it
        ("NDCG_AT_10", "ndcg@10"),
        ("recall_at_20", "recall@20"),
        ("R-Precision", "r_precision"),
        ("ROC-AUC", "auc"),
        ("F1@5", "f1@5"),
        ("SET-RELATIVE-P.5", "precision(divisor=min_k_R)@5"),
        ("Utility_1,-1,0,0", "utility(fn=0, fp=-1, tn=0, tp=1)"),
    ],
)
def test_names_of_other_tools(text, own):
    measure = pr.Measure.parse(text)
    assert str(measure) == own
    assert measure.name == text


def test_the_column_bears_the_name_as_written():
    log = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
    names = ["nDCG@10", "P_5", "hit_rate@5", "ndcg(gain=exp2)@3"]
    assert pr.per_query(log, names).columns == ["query_id", *names]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "unknown measure 'ndgc'; did you mean 'ndcg'"),
        ("ngcd", "did you mean 'ndcg'"),
        ("mpa@5", "did you mean 'MAP' or"),
        ("capped_recall@2", "did you mean 'recall_cap' or"),
        ("hole_rate@5", "did you mean 'hole' or 'hit_rate'"),
        ("average_precison", "did you mean 'average_precision' or"),
        ("zzzzzz", "common ones are ndcg, ap, rr, .*, see: polars-rank measures$"),
        ("ndcg10", "did you mean 'ndcg@10'"),
        ("P-10", "did you mean 'P@10'"),
        ("recall_at_k", "did you mean 'recall@10'"),
        ("acc@5", "did you mean 'accuracy' or"),
        ("Rbp@5", r"may be 'rbp' or 'RBP', which is rbp\(p=0.8, gain=binary\)"),
        ("ACCURACY", "may be 'accuracy' or 'Accuracy', which is relevant_above"),
        ("ndcg@", "whole number of at least 1, not ''"),
        ("ndcg@0", "whole number of at least 1, not '0'"),
        ("ndcg@5, ap", "not '5, ap'.*write each in full: ndcg@5, ndcg@10"),
        ("ndcg@-3", "whole number of at least 1, not '-3'"),
        ("ndcg@1.5", "whole number of at least 1, not '1.5'"),
        ("ndcg@10@5", "cannot read the measure 'ndcg@10@5'"),
        ("ndcg(10)", "write parameter=value, not '10'"),
        ("ndcg(gian=exp2)", "has no parameter 'gian'.*did you mean 'gain'"),
        ("ndcg(gain=exp3)", "gain must be one of linear, exp2, binary.*not 'exp3'"),
        ("ndcg(k=5)@10", "k is given twice"),
        ("precision(rel=high)", "rel must be a finite number, not 'high'"),
        ("precision(divisor=R)@5", "divisor must be one of k, retrieved, min_k_R"),
        ("err(max_grade=0)", "max_grade must be a number above 0"),
        ("ndcg(gain=exp2", "cannot read the measure"),
        ("", "cannot read the measure ''"),
        ("nothing_5", "unknown measure 'nothing_5'"),
        ("P_5,10", "unknown measure 'P_5,10'"),
        ("bpref_5", "unknown measure 'bpref_5'; did you mean 'bpref'"),
        ("utility_1,2", "unknown measure 'utility_1,2'"),
        ("P_0.5", "k must be a whole number of at least 1.*not 0.5"),
        ("IPrec@x", "after @ a number is expected, not 'x'"),
        ("IPrec@2", "recall must be a number of at least 0 and of at most 1, not 2"),
        ("rbp_p=2", "p must be a number above 0 and below 1, not 2"),
        ("ndcg_1=-1", "gain must be one of .*not {1: -1}"),
    ],
)
def test_errors_name_the_way_out(text, message):
    with pytest.raises(ValueError, match=message):
        pr.Measure.parse(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("map ndcg@10 P@5", ["map", "ndcg@10", "P@5"]),
        ("map,ndcg@10, P@5", ["map", "ndcg@10", "P@5"]),
        (["map ndcg@10", "P@5"], ["map", "ndcg@10", "P@5"]),
        ("map\tP@5\n rr ", ["map", "P@5", "rr"]),
        ("ndcg(gain=exp2, k=3) rr", ["ndcg(gain=exp2, k=3)", "rr"]),
        ("ndcg  (k = 3)  map", ["ndcg  (k = 3)", "map"]),
        ("ndcg  @ 10   map", ["ndcg  @ 10", "map"]),
        ("nDCG(gains={1: 3.5, 2: 9}) rr", ["nDCG(gains={1: 3.5, 2: 9})", "rr"]),
        ("P.5,10 rr", ["P_5", "P_10", "rr"]),
        ("utility.1,-1,0,0, rr", ["utility.1,-1,0,0", "rr"]),
        ("ndcg.1=3.5,2=9 map", ["ndcg.1=3.5,2=9", "map"]),
        ("rr,11pt_avg", ["rr", "11pt_avg"]),
        ("ndcg@10- map", ["ndcg@10-", "map"]),
    ],
)
def test_a_text_may_name_several(text, names):
    assert [m.name for m in parse_measures(text)] == names


def test_several_in_a_text_wherever_measures_are_taken(tmp_path, capsys):
    log = pl.DataFrame({"query_id": [1, 2], "score": 1.0, "label": [1, 0]})
    assert pr.evaluate(log, "rr map").columns == ["queries", "rr", "map"]
    both = pl.concat([log.with_columns(system=pl.lit(name)) for name in "ab"])
    values = pr.per_query(both, "rr map", query=["system", "query_id"])
    values = values.with_columns(pl.col("rr").alias("my own"))
    sums = pr.comparison.moments(values, "map rr")
    for table, text, names in (
        (values, "rr map", ["rr", "map"]),
        (values, "my own", ["my own"]),
        (sums, "map rr", ["map", "rr"]),
    ):
        found = pr.compare(table, text).pairs["measure"]
        assert found.unique(maintain_order=True).to_list() == names
        assert split_given([text, "P@5"]) == (*names, "P@5")
    log.write_parquet(tmp_path / "log.parquet")
    assert main(["evaluate", str(tmp_path / "log.parquet"), "-m", "rr map"]) == 0
    assert capsys.readouterr().out.startswith("queries,rr,map\n")


def test_no_message_is_a_wall_of_names():
    for text in ("zzzzzz", "qwertyuiop@10", "x", "HT@10"):
        with pytest.raises(ValueError, match="unknown measure") as caught:
            pr.Measure.parse(text)
        assert len(str(caught.value)) < 200
        assert "recall@" not in str(caught.value)


def test_metrics_have_other_names_in_measure_too():
    assert pr.measure("HR", k=3) == pr.Measure.parse("accuracy@3")
    assert pr.measure("RBP") == pr.measure("rbp", p=0.8, gain="binary")
    assert pr.measure("RBP", p=0.5) == pr.measure("rbp", p=0.5, gain="binary")
    with pytest.raises(ValueError, match="unknown measure 'HR'; did you mean 'acc"):
        pr.Measure("HR")


def test_numbers_of_numpy_are_numbers():
    k, p = np.int64(3), np.float32(0.5)
    assert pr.measure("ndcg", k=k) == pr.measure("ndcg") @ k == pr.measure("ndcg", k=3)
    assert repr(pr.measure("ndcg", k=k)) == repr(pr.measure("ndcg", k=3))
    assert str(pr.measure("rbp", p=p, k=k)) == "rbp(p=0.5)@3"
    label = pl.col("label").rank_eval
    assert str(label.ndcg("score", k=k)) == str(label.ndcg("score", k=3))
    for bad in (np.float64(3), np.bool_(True), np.nan):
        with pytest.raises(ValueError, match="k must be a whole number"):
            pr.measure("ndcg", k=bad)


def test_measures_are_values():
    assert pr.measure("ndcg", k=10) == pr.Measure.parse("nDCG@10")
    assert len({pr.measure("ndcg", k=10), pr.Measure.parse("ndcg_cut_10")}) == 1
    assert pr.measure("ndcg", k=None) == pr.measure("ndcg")
    assert pr.measure("ndcg", gain="linear") != pr.measure("ndcg")  # a convention's
    assert pr.measure("ndcg") != pr.measure("dcg")


def test_a_measure_at_a_place():
    assert pr.measure("ndcg", gain="exp2") @ 10 == pr.Measure.parse(
        "ndcg(gain=exp2)@10"
    )
    assert (pr.measure("ndcg", gain="exp2") @ 10).name == "ndcg(gain=exp2)@10"
    assert (pr.Measure.parse("nDCG") @ 10).name == "nDCG@10"
    assert pr.Measure.parse("IPrec") @ 0.1 == pr.Measure.parse("IPrec@0.1")
    cutoffs = [pr.measure("ndcg", name="mine") @ k for k in (5, 10)]
    assert [m.name for m in cutoffs] == ["mine@5", "mine@10"]


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("ndcg@5", 10, "k is already set in the measure 'ndcg@5'"),
        ("IPrec@0.5", 0.1, "recall is already set in the measure 'IPrec@0.5'"),
        ("ndcg", 0, "k must be a whole number of at least 1"),
        ("bpref", 10, "bpref has no cutoff"),
    ],
)
def test_a_place_that_cannot_be_set(name, place, message):
    with pytest.raises(ValueError, match=message):
        _ = pr.Measure.parse(name) @ place


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "10"])
def test_cutoffs_are_whole_numbers(k):
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        pr.measure("ndcg", k=k)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        pl.col("label").rank_eval.ndcg("score", k=k)


@pytest.mark.parametrize(
    "text", ["----1" * 100_000, "1+" * 100_000, "a" * 1_000_000, "ndcg@" + "1" * 5000]
)
def test_a_long_text_is_refused_at_once(text):
    with pytest.raises(
        ValueError, match=r"characters, which begins with .* at most 1000"
    ):
        pr.Measure.parse(text)


def test_no_pattern_looks_at_a_long_text(monkeypatch):
    """Not even one that takes time in proportion to the text."""
    for name in ("PATTERN", "OPTIONS", "RANX_LEVEL"):
        monkeypatch.setattr(measure_text, name, None)
    with pytest.raises(ValueError, match="at most 1000"):
        pr.Measure.parse("a" * 1001)


@pytest.mark.parametrize("text", ["ap@%d", "ap(rel=%d)", "judged(k=%d)", "P_%d"])
@pytest.mark.parametrize("number", [2**63, 10**400])
def test_whole_numbers_have_64_bits(text, number):
    """Polars has no larger ones: an error when the plan runs would come late."""
    with pytest.raises(ValueError, match=r"\b(k|rel) must be a"):
        pr.Measure.parse(text % number)
    pr.Measure.parse(text % (2**63 - 1))


def test_a_value_that_is_too_deep_to_read_is_refused():
    with pytest.raises(ValueError, match="gain must be"):
        pr.Measure.parse("ndcg(gain={1:" + "(1," * 300 + "})")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SetF(beta=.5)", "f_measure(x=0.5)"),
        ("SetF(beta=2.0)", "f_measure(x=2)"),
        ("SetP(relative=True)", "precision(divisor=min_k_R)"),
        ("SetP(rel=2,relative=False)", "precision(divisor=k, rel=2)"),
    ],
)
def test_parameters_of_ir_measures(text, same):
    assert pr.Measure.parse(text) == pr.Measure.parse(same)


def test_a_cutoff_follows_a_mapping():
    gains = pr.measure("cg", gain={1: 5.0}) @ 3
    assert gains == pr.measure("cg", gain={1: 5.0}, k=3)


def test_a_value_for_nothing_relevant_goes_with_the_measure():
    """As XGBoost writes it, or as a parameter: before the convention's."""
    log = pl.DataFrame({"query_id": [1, 2], "score": [1.0, 1.0], "label": [0, 1]})
    names = ["ndcg@5", "ndcg@5-", "ap(no_relevant=skip)", "map-"]
    means = pr.evaluate(log, names, convention="xgboost")
    assert means.row(0)[1:] == (1.0, 0.5, 1.0, 0.5)
    measure = pr.Measure.parse("ndcg@5-")
    assert measure == pr.measure("ndcg", no_relevant="zero") @ 5
    assert measure != pr.Measure.parse("ndcg@5")
    assert pr.Measure.parse(str(measure)) == measure
    said = pr.explain("ndcg@5-", convention="xgboost")
    assert re.search(r"no_relevant +zero .*\(given\)", said)
    with pytest.raises(ValueError, match="no_relevant must be one of zero, one"):
        pr.measure("ndcg", no_relevant="none")
    with pytest.raises(ValueError, match="no effect on auc"):
        pr.Measure.parse("auc-")


@pytest.mark.parametrize("name", TOOLS)
def test_the_names_that_a_tool_has_are_read(name):
    """A phrase is a description, no name."""
    for metric, own in TOOLS[name].compared.items():
        if " " not in own:
            text = own.replace("@k", "@5").replace("_at_k", "_at_5")
            found = pr.Measure.parse(text).metric
            assert found == {"set_F": "f_measure", "SetF": "f_measure"}.get(own, metric)


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("NDCG:top=10;type=Exp", {"k": 10, "gain": "exp2"}),
        ("NDCG:type=Base;top=-1", {"gain": "linear"}),
        ("DCG:denominator=Position", {"discount": "position"}),
        ("DCG:denominator=LogPosition;top=3", {"discount": "log2", "k": 3}),
        ("MAP:top=5;border=2", {"k": 5, "rel": math.nextafter(2, 3)}),
        ("PFound:decay=0.9", {"decay": 0.9, "max_grade": 1}),
    ],
)
def test_catboosts_options(text, params):
    found = pr.Measure.parse(text)
    assert found.name == text
    assert dict(found.params) == params


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MAP:border=a", "border is a number, not 'a', in the measure 'MAP:border=a'"),
        ("NDCG:top=1;top=2", "k is given twice"),
        ("NDCG:hints=skip_train~false", "ndcg has no parameter 'hints'"),
        ("NDCG:type=Linear", "ndcg has no parameter 'type'"),
        ("NDCK:top=1", "unknown measure 'NDCK'; did you mean 'ndcg'"),
    ],
)
def test_catboosts_options_that_are_wrong(text, error):
    with pytest.raises(ValueError, match=re.escape(error)):
        pr.Measure.parse(text)


def test_a_feature_may_be_written_alone():
    written = pr.Measure.parse("ild(genre, undefined=0)@10")
    assert written == pr.measure("ild", feature="genre", undefined=0, k=10)
    with pytest.raises(ValueError, match="feature is given twice"):
        pr.Measure.parse("ild(genre, tags)@10")
    with pytest.raises(ValueError, match="write parameter=value, not 'genre'"):
        pr.Measure.parse("novelty(genre)@10")
