"""Logs that cannot be right, and logs that say nothing: an error, or null with why."""

from __future__ import annotations

import re

import polars as pl
import pytest

from polars_rank import DataError, clicks

LOG = pl.DataFrame(
    {
        "impression_id": [1, 1, 2, 2, 3, 3],
        "query_id": ["a", "a", "a", "a", "b", "b"],
        "doc_id": ["x", "y", "y", "x", "x", "z"],
        "position": [1, 2, 1, 2, 1, 2],
        "clicked": [1, 0, 0, 1, 0, 0],
        "arm": ["A", "A", "B", "B", "B", "B"],
        "u": [1, 1, 2, 2, 3, 3],
        "s": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "dwell": [40.0, None, None, 3.0, None, None],
        "shown_at": [100.0, 100.0, 200.0, 200.0, 300.0, 300.0],
        "clicked_at": [101.0, None, None, 202.0, None, None],
        "p": [1.0, 0.5, 1.0, 0.5, 1.0, 0.5],
    }
)
INFINITE = float("inf")
ARMS = {"arm": "arm", "control": "A", "cluster": "u"}
BY_ARM = pl.DataFrame(  # as of propensities(by="arm")
    {
        "arm": ["A", "A", "B", "B"],
        "position": [1, 2, 1, 2],
        "propensity": [1.0, 0.5, 1.0, 0.4],
    }
)
RANKING = pl.DataFrame({"query_id": ["a", "b"], "doc_id": ["x", "x"], "rank": [1, 1]})


def of(rule, call, *change, **columns):
    return pytest.param(rule, call, LOG.with_columns(*change, **columns), id=rule)


def behavior(log, **options):
    return clicks.behavior(log, "ctr", **options)


def estimated(log, **options):
    return clicks.counterfactual(log, propensities=1.0, cluster="u", **options)


def timed(log):
    columns = {"dwell": "dwell", "time": "shown_at", "clicked_at": "clicked_at"}
    return clicks.behavior(log, ["dwell", "rr"], **columns)


def of_arms(log):
    return clicks.compare_arms(log, "ctr", arm="arm", control="A", cluster="u")


def logged(log):
    return clicks.counterfactual(log, new="s", propensity="p", cluster="u")


def first_null(column):
    return {column: pl.when(pl.int_range(pl.len()) > 0).then(column)}


BROKEN = [
    of("null_impression", behavior, **first_null("impression_id")),
    of("null_query", behavior, **first_null("query_id")),
    of("null_doc", behavior, **first_null("doc_id")),
    of("two_values", lambda log: behavior(log, by="s")),
    of("two_values", lambda log: behavior(log, by="dwell")),  # null in some rows
    of(
        "two_values",
        lambda log: behavior(log, user="u"),
        u=pl.Series([1, 2, 2, 2, 3, 3]),
    ),
    of("two_values", of_arms, arm=pl.Series(["A", "B", "A", "A", "B", "B"])),
    of("null_arm", of_arms, **first_null("arm")),
    of("invalid_dwell", timed, dwell=-pl.col("dwell")),
    of("invalid_dwell", timed, dwell=pl.col("dwell") * INFINITE),
    of("invalid_dwell", timed, dwell=pl.col("dwell") * float("nan")),
    of("click_before_impression", timed, clicked_at=pl.col("clicked_at") - 50),
    *(
        of("invalid_propensity", logged, p=pl.lit(value, pl.Float64))
        for value in (None, 0.0, -0.5, 1.5, float("nan"), INFINITE)
    ),
    *(
        of("invalid_new_score", logged, s=pl.lit(value, pl.Float64))
        for value in (None, float("nan"))
    ),
    of(
        "nothing_shuffled",
        lambda log: clicks.propensities(log, "randomized", randomized="r", cluster="u"),
        r=pl.lit(value=False),
    ),
    of("invalid_position", behavior, position=pl.col("position") - 1),
    of("invalid_position", behavior, position=pl.lit(None, pl.Int64)),
    of("invalid_position", behavior, position=-pl.col("position")),
    of("duplicate_position", behavior, position=1),
    of("invalid_click", behavior, clicked=pl.lit(None, pl.Int8)),
    of("invalid_click", behavior, clicked=0.5),
    of("invalid_click", behavior, clicked=2),
    of("two_values", behavior, query_id="doc_id"),
    of("null_doc", behavior, doc_id=pl.lit(None, pl.String)),
    of("duplicate_shown", lambda log: clicks.judgments(log, "ctr"), doc_id=pl.lit("x")),
    of("arms_missing", of_arms, arm=pl.lit("A")),
    of("arms_missing", of_arms, arm=pl.lit("B")),
    of("two_arms", of_arms, u=1),
    of(
        "no_support",
        lambda log: estimated(log, new=RANKING.with_columns(doc_id=pl.lit("new"))),
    ),
    of("invalid_rank", lambda log: estimated(log, new=RANKING.with_columns(rank=0))),
    of(
        "duplicate_impression",
        lambda log: behavior(
            log, impressions=pl.DataFrame({"impression_id": [1, 2, 3, 3]})
        ),
    ),
    of(
        "one_half",
        lambda log: clicks.propensities(
            log, "swap", swap="swap", swapped="swapped", cluster="u"
        ),
        swap=2,
        swapped=pl.lit(value=True),
    ),
    of(
        "invalid_credit",
        lambda log: clicks.interleaving(log, credits={"A": "p", "B": "s"}, cluster="u"),
        p=float("nan"),
    ),
    of(
        "invalid_credit",
        lambda log: clicks.interleaving(log, credits={"A": "p", "B": "s"}, cluster="u"),
        s=INFINITE,
    ),
    of(
        "invalid_credit",
        lambda log: clicks.interleaving(
            log,
            ranks={"A": "position", "B": "p"},
            method="balanced",
            cluster="u",
        ),
        p=0,
    ),
    *(
        of("duplicate_propensity", call)
        for call in (
            lambda log: clicks.counterfactual(
                log, new="s", propensities=BY_ARM, cluster="u"
            ),
            lambda log: clicks.judgments(log, propensities=BY_ARM),
        )
    ),
    of(
        "not_neighbors",
        lambda log: clicks.propensities(log, "fair_pairs", swap="swap", cluster="u"),
        swap=9,
    ),
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("lazy", [False, True], ids=["frame", "lazy"])
@pytest.mark.parametrize(("rule", "call", "log"), BROKEN)
def test_what_cannot_be_right_is_an_error(rule, call, log, lazy):
    """Planned in another way where the log is lazy; the error is the same."""
    with pytest.raises(DataError) as error:
        call(log.lazy() if lazy else log).lazy().collect()
    assert error.value.rule == rule
    if counts := error.value.count:
        assert re.search(rf"\b{counts} found\b", str(error.value))


def test_fractional_positions_and_what_is_allowed():
    with pytest.raises((DataError, TypeError, pl.exceptions.PolarsError)):
        behavior(LOG.with_columns(position=pl.col("position") + 0.5))
    skipped = LOG.with_columns(position=pl.col("position") * 3)
    assert behavior(skipped)["ctr"].item() == pytest.approx(2 / 6)
    unknown = LOG.with_columns(clicked=pl.when(pl.col("clicked") > 0).then(1))
    assert behavior(unknown, clicked_null="zero")["ctr"].item() == pytest.approx(2 / 6)


@pytest.mark.filterwarnings("ignore:there are no clicks")
def test_nothing_to_estimate_is_null():
    none = LOG.with_columns(clicked=0)
    with pytest.warns(UserWarning, match="without a propensity"):
        found = clicks.propensities(none)
    assert found["propensity"].is_null().sum() >= 1
    assert estimated(none, new="s")["estimate"].item() is None
    assert estimated(none, new="s", method="snips")["estimate"].item() is None
    one = clicks.behavior(
        LOG.with_columns(u=1), "ctr", cluster="u", interval="normal"
    ).row(0, named=True)
    assert one["estimate"] == pytest.approx(2 / 6)
    assert (one["clusters"], one["se"], one["lower"]) == (1, None, None)


def test_harvest_without_documents_at_two_positions():
    apart = LOG.filter(pl.col("impression_id") != 2)
    with pytest.warns(UserWarning, match="without a propensity: 2"):
        found = clicks.propensities(apart)
    assert found["propensity"].to_list() == [1.0, None]
    assert "no document was shown here" in found["note"][1]


@pytest.mark.filterwarnings("ignore:a single click", "ignore:there are no clicks")
def test_propensities_of_segments_are_taken_where_segments_are_named():
    found = clicks.counterfactual(
        LOG, new="s", propensities=BY_ARM, by="arm", cluster="u"
    )
    assert found["arm"].to_list() == ["A", "B"]
    part = BY_ARM.filter(arm="B")
    one = clicks.counterfactual(
        LOG.filter(arm="B"), new="s", propensities=part, cluster="u"
    )
    assert found["estimate"][1] == one["estimate"].item()


def test_a_log_of_no_rows():
    empty = LOG.clear()
    assert clicks.propensities(empty).is_empty()
    assert clicks.propensities(empty, "em").is_empty()
    assert clicks.judgments(empty, propensities=1.0).is_empty()
    assert clicks.behavior(empty, "ctr")["ctr"].to_list() == [None]


def test_interleaved_lists_without_a_click():
    log = LOG.with_columns(team=pl.col("doc_id"), clicked=0)
    with pytest.warns(UserWarning, match="no interleaved list has a click"):
        found = clicks.interleaving(log, team="team", cluster="u")
    assert found["preference"].to_list() == [None] * len(found)
    tied = clicks.interleaving(log, team="team", cluster="u", no_click="tie")
    assert set(tied["preference"]) == {0.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: clicks.interleaving(
                LOG, team="arm", test="permutation", n_resamples=0
            ),
            "n_resamples must be a whole number of at least 1, not 0",
        ),
        (
            lambda: clicks.interleaving(
                LOG, method="probabilistic", ranks={"A": "u", "B": "u"}, depth=0
            ),
            "depth must be a whole number of at least 1, not 0",
        ),
        (
            lambda: clicks.judgments(LOG, "ctr", min_impressions="ten"),
            "min_impressions must be a whole number, not 'ten'",
        ),
        (
            lambda: clicks.compare_arms(LOG, "ctr", arm="arm", control="A", power=80),
            "power must lie between 0 and 1",
        ),
    ],
)
def test_numbers_that_cannot_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def weighed(**options):
    return clicks.counterfactual(LOG, new="s", cluster="u", **options)


def compared(label):
    reference = LOG.select("query_id", "doc_id", label=1.0).unique()
    wrong = pl.when(pl.col("doc_id") == "z").then(label).otherwise("label")
    return clicks.agreement(reference.with_columns(label=wrong), reference)


@pytest.mark.parametrize("number", [float("nan"), INFINITE, -INFINITE], ids=str)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: weighed(propensities=x), "a frame, or a number between -100 and"),
        (lambda x: weighed(propensities=1.0, clip=x), "clip must be above 0 and fin"),
        (
            lambda x: clicks.judgments(LOG, propensities=x),
            "a frame, or a number between -100 and",
        ),
        (lambda x: clicks.judgments(LOG, "ctr", prior=(x, 1.0)), "prior must be above"),
        (lambda x: clicks.judgments(LOG, "ctr", prior=(1.0, x)), "prior must be above"),
        (
            lambda x: clicks.judgments(LOG, "ctr", grades=[x, 1]),
            "grades must be finite",
        ),
        (
            lambda x: clicks.judgments(LOG, "ctr", grades=[0, x]),
            "grades must be finite",
        ),
        (
            lambda x: clicks.interleaving(
                LOG, team="arm", credit="satisfied", dwell="dwell", min_dwell=x
            ),
            "min_dwell must be a number of at least 0",
        ),
        (
            lambda x: clicks.simulate(9, lift=x, n_arms=2),
            "lift must be a finite number",
        ),
        (lambda x: clicks.simulate(9, zipf=x), "zipf must be a finite number"),
        (
            lambda x: clicks.simulate(9, temperature=x),
            "temperature must be above 0 and",
        ),
        (lambda x: clicks.simulate(9, user_sd=x), "user_sd must be at least 0 and fin"),
        (
            lambda x: clicks.simulate(9, user_model={"pbm": 1.0, "dcm": x}),
            "user_model must be of positive shares, all finite",
        ),
        (compared, "1 label of qrels must be finite, not NaN or infinite"),
    ],
)
def test_numbers_that_are_not_finite(call, message, number):
    with pytest.raises(ValueError, match=message):
        call(number)


@pytest.mark.parametrize("eta", [100, -100.0, 2000])
def test_a_bias_that_no_log_has(eta):
    with pytest.raises(ValueError, match="or a number between -100 and 100"):
        weighed(propensities=eta)


WRONG_TYPES = {
    "randomized": lambda log, c: clicks.propensities(log, "randomized", randomized=c),
    "swap": lambda log, c: clicks.propensities(log, "swap", swap=c),
    "swapped": lambda log, c: clicks.propensities(
        log, "swap", swap="position", swapped=c
    ),
    "relevance": lambda log, c: clicks.propensities(log, "trust", relevance=c),
    "reward": lambda log, c: clicks.counterfactual(
        log, new="s", propensities=1, method="dr", reward=c
    ),
    "new": lambda log, c: clicks.counterfactual(log, new=c, propensities=1),
    "seen": lambda log, c: clicks.behavior(log, "ctr", seen=c),
    "flag": lambda log, c: clicks.behavior(log, "good_abandonment", flag=c),
    "dwell": lambda log, c: clicks.behavior(log, "dwell", dwell=c),
    "team": lambda log, c: clicks.interleaving(log.with_columns(pl.struct(c)), team=c),
}


@pytest.mark.parametrize("role", WRONG_TYPES)
def test_a_column_of_the_wrong_type_is_named_at_once(role):
    """Before anything is read, with what would be right."""
    with pytest.raises(TypeError, match="column 'arm' of the log has dtype") as error:
        WRONG_TYPES[role](LOG.lazy(), "arm")
    assert "must be" in str(error.value)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("effect", lambda log, by: clicks.compare_arms(log, "ctr", by=by, **ARMS)),
        ("measure", lambda log, by: clicks.compare_arms(log, "ctr", by=by, **ARMS)),
        (
            "p_adjusted",
            lambda log, by: clicks.compare_arms(
                log, "ctr", by=by, adjust="holm", **ARMS
            ),
        ),
        ("scale", lambda log, by: estimated(log, new="s", by=by)),
        ("crossover", lambda log, by: clicks.sensitivity(log, new="s", by=by)),
        ("note", lambda log, by: clicks.propensities(log, by=by)),
        ("steps", lambda log, by: clicks.propensities(log, by=by)),
        ("wins", lambda log, by: clicks.interleaving(log, team="arm", by=by)),
        ("share", lambda log, by: clicks.team_shares(log, team="arm", by=by)),
        ("documents", lambda log, by: clicks.click_entropy(log, by=by)),
        ("query_id", lambda log, by: clicks.click_entropy(log, by=by)),
        ("label", lambda log, by: clicks.judgments(log, doc=by)),
        ("rr", lambda log, by: clicks.per_impression(log, "rr", impression=by)),
    ],
)
def test_columns_named_like_those_of_the_result(name, call, lazy):
    log = LOG.with_columns(pl.lit("de").alias(name))
    message = f"two output columns would be called '{name}'; rename the input column"
    with pytest.raises(ValueError, match=message):
        call(log.lazy() if lazy else log, name)


@pytest.mark.parametrize("segment", ["effect", "srm_p_value"])
def test_segments_of_states_named_like_those_of_compared_arms(segment):
    log = LOG.with_columns(pl.lit("de").alias(segment))
    state = clicks.behavior_state(
        log, "ctr", by=["arm", segment], cluster="u", keep_clusters=True
    )
    with pytest.raises(ValueError, match="two output columns would be called"):
        clicks.merge_arms(state, arm="arm", control="A")
