"""What a metric declares is what its callers may say."""

from __future__ import annotations

from typing import Annotated, Literal

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.core.arguments import Cutoff, Rel
from polars_rank.core.metric.registry import ALIASES, of_vocabulary
from polars_rank.core.parameters import Allowed, Doc, Meaning, Range, read_parameters
from polars_rank.core.weights import Gain, GainLike
from polars_rank.metrics import METRICS, metric
from polars_rank.namespaces.method import method


def made_up(
    r: pr.Ranking,
    *,
    p: Annotated[float, Range(above=0, most=1)] = 0.8,
    n: Annotated[int, Range(least=2)] = 2,
    side: Literal["up", "down"] = "up",
    depth: Annotated[float, Range(above=0)] | Literal["all"] = "all",
    strict: bool = False,
) -> pl.Expr:
    """Nothing in particular."""
    return r.sum(r.relevant())


def bare(r: pr.Ranking) -> pl.Expr:
    """Nothing at all."""
    return r.sum(r.relevant())


@pytest.fixture(autouse=True)
def registered():
    """Two metrics of this file's own."""
    before = dict(METRICS), dict(ALIASES)
    metric(aliases={"MadeUp": {}, "down": {"side": "down"}})(made_up)
    metric(needs_relevant=False, uses_scores=True, tie_sensitive=False)(bare)
    yield
    for registry, was in zip((METRICS, ALIASES), before, strict=True):
        registry.clear()
        registry.update(was)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("made_up(p=0)", "p must be a number above 0 and of at most 1, not 0"),
        ("made_up(p=1.5)", "p must be a number above 0 and of at most 1, not 1.5"),
        ("made_up(p=big)", "p must be a number above 0 and of at most 1, not 'big'"),
        ("made_up(n=1)", "n must be a whole number of at least 2, not 1"),
        ("made_up(n=2.5)", "n must be a whole number of at least 2, not 2.5"),
        ("made_up(side=left)", "side must be one of up, down, not 'left'"),
        ("made_up(depth=0)", "depth must be a number above 0 or one of all, not 0"),
        ("made_up(strict=1)", "strict must be True or False, not 1"),
        ("made_up@10", "made_up has no cutoff"),
        ("MadeUp@10", "made_up has no cutoff"),
        ("MadeUp_10", "unknown measure 'MadeUp_10'; did you mean 'MadeUp'"),
        ("made_up(k=3)", "made_up has no cutoff"),
        ("bare(x=1)", "bare has no parameter 'x'; it has none"),
    ],
)
def test_errors_come_from_the_annotations(text, message):
    with pytest.raises(ValueError, match=message):
        pr.Measure.parse(text)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("made_up(p=1, n=7)", "made_up(n=7, p=1)"),
        ("down(depth=all)", "made_up(depth=all, side=down)"),
        ("MadeUp(depth=0.5, strict=True)", "made_up(depth=0.5, strict=True)"),
    ],
)
def test_what_the_annotations_allow(text, own):
    assert str(pr.Measure.parse(text)) == own


def test_a_type_without_a_rule_is_found_out():
    def odd(r: pr.Ranking, *, words: list[str] = []) -> pl.Expr:  # noqa: B006
        return r.sum(r.relevant())

    with pytest.raises(TypeError, match=r"no rule for arguments of type list\[str\]"):
        read_parameters(odd)


def test_a_type_may_bring_its_rule():
    def even(
        r: pr.Ranking,
        *,
        n: Annotated[
            list[int], Allowed("even numbers", lambda v: sum(v) % 2 == 0)
        ] = (),
    ) -> pl.Expr:
        return r.sum(r.relevant())

    n = read_parameters(even)["n"]
    n.check([2, 4])
    with pytest.raises(ValueError, match=r"n must be even numbers, not \[3\]"):
        n.check([3])


def test_two_parameters_of_one_meaning_are_refused():
    def twice(r: pr.Ranking, *, a: Gain, b: Gain) -> pl.Expr:
        return r.sum(r.gain(a) * r.gain(b))

    with pytest.raises(TypeError, match="two parameters of twice mean 'gain'"):
        read_parameters(twice)


def test_conventions_fill_parameters_by_type():
    """Not by name: ``gain`` of another type is nobody's gain, ``g: Gain`` is."""

    def by_type(r: pr.Ranking, *, depth: Cutoff = None, g: Gain, least: Rel) -> pl.Expr:
        return r.sum(r.gain(g, least) * r.in_top(depth))

    def by_name(
        r: pr.Ranking,
        *,
        gain: GainLike = "linear",
        rel: Annotated[float, Doc("an offset")] = 5,
    ) -> pl.Expr:
        return r.sum(r.gain(gain)) + rel

    metric(depends_on="relevant")(by_type)
    metric(depends_on="relevant")(by_name)
    strict = pr.CONVENTIONS["lightgbm"].replace(rel=2)
    assert strict.defaults("by_type") == {"g": "exp2", "least": 2}
    assert strict.defaults("by_name") == {}
    log = pl.DataFrame({"query_id": 1, "score": [3.0, 2.0, 1.0], "label": [1, 3, 2]})
    named = ["by_type@2", "by_name", "by_type(g=binary)@1"]
    values = pr.per_query(log, named, convention=strict)
    assert values.row(0) == (1, 7.0, 11.0, 0.0)
    assert str(pr.Measure.parse("by_type_2-l3")) == "by_type(least=3)@2"
    assert str(pr.Measure.parse("by_type.1=4")) == "by_type(g={1: 4})"
    assert METRICS["by_type"].depends_on_with(dict(least=0)) == "judged"
    assert METRICS["by_type"].depends_on_with(dict(g={1: 2})) == "judged"
    assert METRICS["by_name"].depends_on_with(dict(rel=0)) == "relevant"
    assert "a grade of at least 2 is relevant" in pr.explain("by_type(least=2)")


def test_nothing_relevant_goes_by_type():
    """A query is undefined where nothing reaches the threshold, whatever its name."""

    def ones(r: pr.Ranking, *, least: Annotated[float, Meaning("rel")]) -> pl.Expr:
        return pl.lit(1.0)

    metric(depends_on="judged")(ones)
    log = pl.DataFrame({"query_id": 1, "score": [1.0], "label": [1]})
    values = pr.per_query(log, ["ones", "ones(least=2)"])
    assert values.row(0) == (1, 1.0, 0.0)


def test_the_first_parameter_tells_the_vocabulary():
    def over_subtopics(s: pr.Subtopics) -> pl.Expr:
        return s.count()

    metric(depends_on="relevant")(over_subtopics)
    assert METRICS["over_subtopics"].vocabulary == "subtopics"
    assert METRICS["bare"].vocabulary == "ranking"
    assert "over_subtopics" in of_vocabulary("subtopics")
    words = ("ranking", "subtopics", "recommendations", "catalog", "totals")
    assert sum(len(of_vocabulary(word)) for word in words) == len(METRICS)


def takes_gain_and_threshold(name):
    meanings = METRICS[name].meanings
    return "gain" in meanings and not {"rel", "optional_rel"}.isdisjoint(meanings)


@pytest.mark.filterwarnings("ignore:no document is relevant")
@pytest.mark.parametrize("name", [*filter(takes_gain_and_threshold, METRICS)])
def test_grades_below_the_threshold_leave_a_measure_of_gain_undefined(name):
    """Two documents of grade 1: something is relevant from 1 on, nothing from 2 on."""
    log = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 1]})
    log = log.with_columns(score=pl.Series([2.0, 1.0]))
    if not METRICS[name].needs_relevant:
        pytest.skip("it is never undefined")
    for rel, undefined in ((1, False), (2, True)):
        (value,) = pr.per_query(log, f"{name}(rel={rel})", no_relevant="null")[:, -1]
        assert (value is None) is undefined, rel


@pytest.mark.parametrize("name", ["ndcg", "nDCG", "own"])
def test_a_name_is_given_once(name):
    def own(r: pr.Ranking) -> pl.Expr:
        return r.sum(r.relevant())

    metric(aliases={"Mine": {}})(own)
    own.__name__ = "other"
    with pytest.raises(ValueError, match=f"'{name}' names both .* and other; keep one"):
        metric(aliases={name: {}})(own)


def test_a_method_takes_what_the_metric_needs():
    label = pl.col("label").rank_eval
    with pytest.raises(TypeError, match=r"rr\(\) got an unexpected .* 'relevance'"):
        label.rr("score", relevance=1)
    with pytest.raises(TypeError, match=r"argument 'rnak'; did you mean 'rank'"):
        label.rr(rnak="place")
    with pytest.raises(TypeError, match=r"spearman\(\) missing 1 .*: 'score'"):
        label.spearman()
    for name in ("rank", "doc", "ties", "no_relevant"):
        with pytest.raises(TypeError, match=name):
            label.listmle("score", **{name: None})
    assert method(METRICS["bare"]).__name__ == "bare"
