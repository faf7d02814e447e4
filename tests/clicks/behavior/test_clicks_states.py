"""States that keep their clusters: users who come back on other days are the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank import DataError, DataWarning, clicks
from polars_rank.core.exact.stable_hash import key_text, stable_hash

LOG = (
    clicks.simulate(
        3000, n_queries=20, n_users=300, user_sd=1.5, n_arms=3, lift=0.1, seed=5
    )
    .draw()
    .with_columns(
        day=pl.col("impression_id") % 20,
        device=pl.when(pl.col("impression_id") % 7 < 3).then(pl.lit("phone")),
        weight=pl.col("impression_id") % 3 + 0.5,
    )
)
DAYS = LOG.partition_by("day")
COUNTED = ["ctr", "abandonment", "first_click"]
MEASURES = [*COUNTED, "rr", "dwell"]
STATE = {"dwell": "dwell", "cluster": "user_id", "keep_clusters": True}
WHOLE = {"dwell": "dwell", "cluster": "user_id", "interval": "normal"}


def states(logs, measures=MEASURES, **options):
    return [clicks.behavior_state(log, measures, **STATE, **options) for log in logs]


def test_users_who_come_back_every_day_are_counted_once():
    found = clicks.merge_behavior(states(DAYS))
    whole = clicks.behavior(LOG, MEASURES, **WHOLE)
    assert found["clusters"].to_list() == [LOG["user_id"].n_unique()] * 5
    assert found.head(3).equals(whole.head(3))  # counts: to the last bit
    assert_frame_equal(found, whole, rel_tol=1e-12, abs_tol=0)
    turned = clicks.merge_behavior(states(DAYS)[::-1])
    assert turned.equals(found)
    without = [clicks.behavior_state(day, "ctr", cluster="user_id") for day in DAYS]
    with pytest.warns(DataWarning, match="counted anew in every part"):
        wrong = clicks.merge_behavior(without).row(0, named=True)
    assert wrong["clusters"] > 2000
    assert wrong["se"] < 0.8 * whole["se"][0]


@pytest.mark.parametrize(
    "options",
    [
        {"by": "device"},
        {"by": ["arm", "device"], "unit": "impression"},
        {"weight": "weight"},
        {"cluster": ["user_id", "device"]},
    ],
)
def test_the_merge_of_days_is_the_whole(options):
    logs = [log.with_columns(device=pl.col("device").fill_null("desk")) for log in DAYS]
    found = clicks.merge_behavior(
        [clicks.behavior_state(d, MEASURES, **(STATE | options)) for d in logs]
    )
    whole = clicks.behavior(pl.concat(logs), MEASURES, **(WHOLE | options))
    assert_frame_equal(found, whole, rel_tol=1e-12, abs_tol=0, check_row_order=True)


def test_states_are_files_and_lazy(tmp_path):
    for i, day in enumerate(DAYS[:3]):
        state = clicks.behavior_state(day.lazy(), "ctr", **STATE)
        assert isinstance(state, pl.LazyFrame)
        state.sink_parquet(tmp_path / f"{i}.parquet")
    found = clicks.merge_behavior(str(tmp_path / "*.parquet"))
    assert found.equals(clicks.behavior(pl.concat(DAYS[:3]), "ctr", **WHOLE))
    one = pl.read_parquet(tmp_path / "0.parquet")
    users = DAYS[0]["user_id"].n_unique()
    sums = ["measure", "impressions", "cluster", "x", "d"]
    assert one.columns == [*sums, "definition", "digests"]
    assert len(one) == one["cluster"].n_unique() == users


@pytest.mark.parametrize("cuped", [False, True])
def test_arms_of_days_are_those_of_the_whole(cuped):
    before = LOG.filter(pl.col("day") < 7).drop("arm")
    after = LOG.filter(pl.col("day") >= 7)
    options = {"arm": "arm", "control": "A", "adjust": "holm", "level": 0.9}
    options["expected_split"] = {"A": 9, "B": 11, "C": 10}
    parts = states(after.partition_by("day"), by=["device", "arm"])
    early = states(before.partition_by("day"), by="device") if cuped else None
    found = clicks.merge_arms(parts, covariates=early, **options)
    more = {"covariates": before} if cuped else {}
    whole = clicks.compare_arms(
        after, MEASURES, by="device", dwell="dwell", **more, **options
    )
    assert_frame_equal(found, whole, rel_tol=1e-9, abs_tol=1e-12)


def test_a_user_in_another_arm_on_another_day():
    days = [LOG.with_columns(arm=pl.lit(arm)).head(500) for arm in "AB"]
    parts = states(days, "ctr", by="arm")
    with pytest.raises(DataError, match="in more than one arm") as error:
        clicks.merge_arms(parts, arm="arm", control="A")
    assert error.value.rule == "two_arms"


def test_states_without_their_clusters_are_refused():
    kept, *_ = states(DAYS[:1], "ctr")
    without = clicks.behavior_state(DAYS[1], "ctr", cluster="user_id")
    with pytest.raises(DataError, match="state 2 does not keep") as error:
        clicks.merge_behavior([kept, without])
    assert error.value.rule == "clusters_not_kept"
    arms = clicks.behavior_state(DAYS[1], "ctr", cluster="user_id", by="arm")
    with pytest.raises(DataError, match="the parts do not keep"):
        clicks.merge_arms([arms], arm="arm", control="A")
    with pytest.raises(DataError, match="the covariates do not keep"):
        clicks.merge_arms(
            states(DAYS[:2], by="arm"), arm="arm", control="A", covariates=without
        )
    with pytest.warns(UserWarning, match="treat impressions as independent"):
        clicks.behavior_state(LOG, "ctr")
    with pytest.raises(ValueError, match="keep_clusters=True needs cluster="):
        clicks.behavior_state(LOG, "ctr", keep_clusters=True)


def test_a_day_of_clusters_merged_twice_is_an_error(tmp_path):
    kept = states(DAYS[:3], by="arm")
    again = states([DAYS[1].sample(fraction=1, shuffle=True, seed=3)], by="arm")
    assert {*again[0]["digests"]} == {*kept[1]["digests"]}
    assert len({text for state in kept for text in state["digests"]}) == 3
    for i, state in enumerate([*kept, *again]):
        state.write_parquet(tmp_path / f"day{i}.parquet")
    days = str(tmp_path / "day*.parquet")
    for merged in (
        lambda: clicks.merge_behavior(days),
        lambda: clicks.merge_arms(days, arm="arm", control="A"),
        lambda: clicks.merge_arms(kept, covariates=days, arm="arm", control="A"),
    ):
        with pytest.raises(DataError, match=r"day1\.par.* and .*day3.*the same part"):
            merged()
    for table in (pl.concat([*kept, *again]), pl.concat([kept[0]] * 2)):
        with pytest.raises(DataError, match="the same part twice") as told:
            clicks.merge_behavior(table)
        assert told.value.rule == "part_twice"
    two = [clicks.behavior_state(DAYS[0], "ctr", part=p, **STATE) for p in "ab"]
    found = clicks.merge_behavior(two)
    assert found["clusters"].item() == DAYS[0]["user_id"].n_unique()
    assert found["impressions"].item() == 2 * DAYS[0]["impression_id"].n_unique()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "weight"}, "weight is 'weight' there and None here"),
        ({"unit": "impression"}, "unit is 'impression' there and None here"),
        ({"cluster": "day"}, "cluster is 'day' there and 'user_id' here"),
    ],
)
def test_clusters_of_two_definitions_are_not_merged(options, message):
    first, second = states(DAYS[:2], "ctr", by="arm")
    other = clicks.behavior_state(DAYS[1], "ctr", **(STATE | options))
    armed = clicks.behavior_state(DAYS[1], "ctr", by="arm", **(STATE | options))
    for merged in (
        lambda: clicks.merge_behavior([first, armed]),
        lambda: clicks.merge_arms([first, armed], arm="arm", control="A"),
        lambda: clicks.merge_arms(
            [first, second], arm="arm", control="A", covariates=other
        ),
    ):
        with pytest.raises(DataError, match=message) as told:
            merged()
        assert told.value.rule == "different_definition"


def test_days_without_clusters_have_no_rows_and_add_none():
    empty = states([DAYS[0].clear()])
    assert clicks.merge_behavior(empty).is_empty()
    found = clicks.merge_behavior([*empty, *states(DAYS[:2])])
    assert found.equals(clicks.merge_behavior(states(DAYS[:2])))


def test_covariates_have_every_measure():
    early = states(DAYS[:1], "rr")
    parts = states(DAYS[1:3], "ctr", by="arm")
    with pytest.raises(DataError, match=r"'ctr' of the covariates .*: they lack it"):
        clicks.merge_arms(parts, arm="arm", control="A", covariates=early)
    empty = states([DAYS[0].clear()], "ctr")
    found = clicks.merge_arms(parts, arm="arm", control="A", covariates=empty)
    assert found.equals(clicks.merge_arms(parts, arm="arm", control="A"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"cluster": None}, "none that impressions have"),
        ({"x": None}, "none that impressions have"),
        ({"d": float("nan")}, "none that impressions have"),
        ({"impressions": 0}, "none that impressions have"),
        ({"definition": None}, "'definition' is null in 1 row"),
        ({"digests": "x"}, "digests that nobody has written"),
    ],
)
def test_damaged_clusters_are_told_with_the_file(damage, message, tmp_path):
    state, *_ = states(DAYS[:1], "ctr")
    ((name, value),) = damage.items()
    first = pl.int_range(pl.len()) == 0
    wrong = pl.when(first).then(pl.lit(value)).otherwise(name).alias(name)
    state.with_columns(wrong).write_parquet(tmp_path / "monday.parquet")
    with pytest.raises(DataError, match=rf"monday\.parquet.*{message}") as told:
        clicks.merge_behavior(tmp_path / "monday.parquet")
    assert told.value.rule == "damaged_state"
    text = state.cast({"cluster": pl.String})
    with pytest.raises(DataError, match="column 'cluster' is String, no hash"):
        clicks.merge_behavior(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": "day"}, "arm='day' is none of the segments of the states"),
        ({"level": 2}, "level must lie between"),
        ({"power": 0}, "power must lie between"),
        ({"adjust": "tukey"}, "adjust must be None or 'holm'"),
    ],
)
def test_wrong_arguments(options, message):
    parts = states(DAYS[:1], by="arm")
    with pytest.raises(ValueError, match=message):
        clicks.merge_arms(parts, **({"arm": "arm", "control": "A"} | options))


@pytest.mark.filterwarnings("error::polars_rank.DataWarning")
def test_whole_users_in_each_part_need_not_be_kept():
    parts = [LOG.filter(pl.col("user_id") % 4 == i) for i in range(4)]
    few = [clicks.behavior_state(part, "ctr", cluster="user_id") for part in parts]
    found = clicks.merge_behavior(few, whole_clusters=True)
    assert found.equals(clicks.behavior(LOG, "ctr", **WHOLE))
    clicks.merge_behavior(few[0])  # one part
    alone = [clicks.behavior_state(day.drop("user_id"), "ctr") for day in DAYS]
    assert clicks.merge_behavior(alone)["clusters"].item() == 3000  # impressions


# -- hashes


def plain_hash(text):
    """Of the bytes, with integers of any size."""
    low = 2**64 - 1

    def mixed(number):
        number = (number + 0x9E3779B97F4A7C15) & low
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & low
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & low
        return number ^ (number >> 31)

    data = text.encode()
    total = sum(mixed(byte + 256 * i) for i, byte in enumerate(data))
    return mixed((total + len(data)) & low)


def keys_of(frame):
    texts = [key_text(name, dtype) for name, dtype in frame.schema.items()]
    return frame.select(stable_hash(texts)).to_series().to_list()


def test_hashes_do_not_depend_on_polars():
    texts = ["", "a", "b", "ab", "ba", "7", "été", "😀" * 40, "x" * 1000]
    wanted = [plain_hash(text) for text in texts]
    assert keys_of(pl.DataFrame({"user": texts})) == wanted
    assert keys_of(pl.DataFrame({"user": texts}).clear()) == []
    assert len({*wanted}) == len(wanted)
    sliced = pl.concat([pl.DataFrame({"user": [t]}) for t in texts], rechunk=False)
    assert keys_of(sliced.slice(2, 4)) == wanted[2:6]


def test_hashes_of_ids_of_other_types():
    ids = pl.Series("user", [3, 70, 70_000])
    wanted = [plain_hash(str(i)) for i in ids]
    for dtype in (pl.Int32, pl.UInt64, pl.String):
        assert keys_of(ids.cast(dtype).to_frame()) == wanted
    category = ids.cast(pl.String).cast(pl.Categorical).to_frame()
    assert keys_of(category) == wanted
    binary = pl.Series("user", [b"\xff\x00", b""]).to_frame()
    assert keys_of(binary) == [plain_hash("ff00"), plain_hash("")]
    both = pl.DataFrame({"a": ["x", "xy"], "b": ["yz", "z"]})
    assert keys_of(both) == [plain_hash("x\x1fyz"), plain_hash("xy\x1fz")]


def test_hashes_do_not_meet():
    numbers = keys_of(pl.DataFrame({"user": np.arange(300_000)}))
    assert len({*numbers}) == 300_000
    ones = np.array([[n >> bit & 1 for bit in range(64)] for n in numbers[:20_000]])
    assert np.abs(ones.mean(axis=0) - 0.5).max() < 0.02
