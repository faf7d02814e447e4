"""Measures of arrays: the values of ``evaluate``, bound once."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import polars as pl
import pytest

import polars_rank as pr
from polars_rank.integrations import arrays
from polars_rank.integrations.arrays import BoundMeasures
from polars_rank.integrations.catboost import eval_metric
from polars_rank.integrations.lightgbm import feval
from polars_rank.integrations.xgboost import custom_metric

DRAW = np.random.default_rng(4)
SIZES = [3, 1, 8, 5, 2]
ROWS = sum(SIZES)
QUERY = np.repeat(np.arange(len(SIZES)), SIZES)
LABEL = DRAW.integers(0, 3, ROWS).astype(float)
SCORE = DRAW.random(ROWS)
MEASURES = ["ndcg@3", "rr", "kendall_distance"]


def wanted(score: np.ndarray = SCORE, **options: object) -> dict[str, float]:
    frame = pl.DataFrame({"query_id": QUERY, "label": LABEL, "score": score})
    found = pr.evaluate(frame, MEASURES, **options)
    return found.drop("queries").row(0, named=True)


class Tensor:
    """As a tensor of PyTorch: no buffer before it is detached and on the CPU."""

    def __init__(self, values: np.ndarray, steps: tuple[str, ...] = ()) -> None:
        self.values, self.steps = values, steps

    def detach(self) -> Tensor:
        return Tensor(self.values, (*self.steps, "detach"))

    def cpu(self) -> Tensor:
        return Tensor(self.values, (*self.steps, "cpu"))

    def numpy(self) -> np.ndarray:
        assert self.steps == ("detach", "cpu")
        return self.values


class Lazy:
    """As an array of JAX: only numpy knows how to read it."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape = values, values.shape

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.values


@pytest.mark.parametrize("options", [{}, {"convention": "lightgbm"}, {"stats": "p10"}])
def test_values_are_those_of_evaluate(options):
    metric = BoundMeasures(MEASURES, LABEL, sizes=SIZES, **options)
    assert metric(SCORE) == wanted(**options)
    assert metric(-SCORE) == wanted(-SCORE, **options)
    assert [*metric.higher_is_better] == [*metric(SCORE)]
    assert [*metric.higher_is_better.values()] == [True, True, False]


def test_rows_of_a_query_may_be_anywhere():
    order = DRAW.permutation(ROWS)
    metric = BoundMeasures(MEASURES, LABEL[order], query=QUERY[order])
    assert metric(SCORE[order]) == wanted()


@pytest.mark.parametrize(
    "scores",
    [
        SCORE.tolist(),
        pl.Series(SCORE),
        SCORE.reshape(-1, 1),
        Tensor(SCORE),
        Tensor(SCORE.reshape(-1, 1)),
        Lazy(SCORE),
        Lazy(SCORE.reshape(1, -1)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_arrays_of_any_kind(scores):
    metric = BoundMeasures(MEASURES, Tensor(LABEL), sizes=Lazy(np.array(SIZES)))
    assert metric(scores) == wanted()


def test_a_measure_of_your_own_and_undefined_values():
    own = {"hits": lambda r: r.hits_at(2)}
    metric = BoundMeasures(own, [0, 0], sizes=[2])
    assert metric([1, 2]) == {"hits": 0.0}
    assert math.isnan(
        BoundMeasures("rr", [0, 0], sizes=[2], no_relevant="skip")([1, 2])["rr"]
    )


def test_what_does_not_fit_is_refused():
    for wrong in ({}, {"sizes": [2], "query": [1, 1]}):
        with pytest.raises(ValueError, match="give either sizes="):
            BoundMeasures("rr", [0, 1], **wrong)
    with pytest.raises(ValueError, match="query must have one value for each of the 2"):
        BoundMeasures("rr", [0, 1], query=[1])
    metric = BoundMeasures("rr", [0, 1], sizes=[2])
    with pytest.raises(ValueError, match="score must have one value for each of the 2"):
        metric([1.0])
    with pytest.raises(TypeError, match="score must have one value for each row, not"):
        metric([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(pr.DataError, match="NaN"):
        metric([1.0, float("nan")])
    with pytest.raises(TypeError, match="takes no qrels"):
        BoundMeasures("rr", [0, 1], sizes=[2], qrels=None)
    with pytest.raises(TypeError, match="takes no tie; did you mean 'ties'"):
        feval("rr", tie="order")


# -- frameworks, by objects that look like theirs


class Dataset:
    """Of LightGBM, XGBoost and CatBoost at once: labels, and the groups of each."""

    def __init__(self, label: np.ndarray, sizes: list[int]) -> None:
        self.label, self.sizes = label, np.array(sizes, dtype=np.int64)

    def get_label(self) -> np.ndarray:
        return self.label.astype(np.float32)  # anew each time, as XGBoost

    def get_group(self) -> np.ndarray:
        return self.sizes

    def get_uint_info(self, name: str) -> np.ndarray:
        assert name == "group_ptr"
        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        return ends.astype(np.uint32) if len(self.sizes) else ends[:0]

    def get_group_id_hash(self) -> np.ndarray:
        numbers = np.arange(len(self.sizes), dtype=np.uint64) + np.uint64(2**63)
        return np.repeat(numbers, self.sizes)


VALID, TRAIN = Dataset(LABEL, SIZES), Dataset(LABEL[::-1], SIZES[::-1])


def test_lightgbm_learns_names_values_and_directions():
    metric = feval(MEASURES)
    told = metric(SCORE, VALID)
    assert {name: value for name, value, _ in told} == wanted()
    assert [better for *_, better in told] == [True, True, False]
    assert metric(LABEL, SCORE, None, SIZES) == told  # as scikit-learn's interface
    again = pickle.loads(pickle.dumps(metric))
    assert again(SCORE, VALID) == told
    with pytest.raises(ValueError, match="the data set has no groups"):
        metric(LABEL, SCORE)


def test_xgboost_learns_names_and_values():
    metric = custom_metric(MEASURES)
    assert dict(metric(SCORE, VALID)) == wanted()
    assert metric.maximize == {"ndcg@3": True, "rr": True, "kendall_distance": False}
    with pytest.raises(ValueError, match="the matrix has no groups"):
        metric(SCORE, Dataset(LABEL, []))


def test_catboost_recognizes_pools_by_their_labels():
    metric = eval_metric("ndcg@3", TRAIN, VALID)
    assert metric.is_max_optimal()
    assert not eval_metric("kendall_distance", VALID).is_max_optimal()
    value, weight = metric.evaluate([SCORE], LABEL, None)
    assert metric.get_final_error(value, weight) == wanted()["ndcg@3"]
    backwards = metric.evaluate([SCORE[::-1]], LABEL[::-1], None)
    assert backwards == (pytest.approx(value, rel=1e-15), 1.0)
    with pytest.raises(ValueError, match="was not given: give it every pool"):
        metric.evaluate([SCORE[:3]], LABEL[:3], None)
    with pytest.raises(ValueError, match="one measure, not ndcg@3, rr"):
        eval_metric(["ndcg@3", "rr"], VALID)
    with pytest.raises(ValueError, match="give the pools"):
        eval_metric("rr")
    with pytest.raises(ValueError, match="a pool has no groups"):
        eval_metric("rr", Dataset(LABEL, []))
    with pytest.raises(ValueError, match="two pools have the same labels in other"):
        eval_metric("rr", VALID, Dataset(LABEL, [ROWS]))


@pytest.mark.parametrize("make", [feval, custom_metric])
def test_data_sets_are_bound_once(make, monkeypatch):
    """However often they are evaluated; and others with the same labels apart."""
    bound = []

    class Counted(BoundMeasures):
        def __init__(self, *args: object, **kwargs: object) -> None:
            bound.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(arrays, "BoundMeasures", Counted)
    metric = make("ndcg@3")
    for _ in range(4):
        for data in (TRAIN, VALID):
            metric(SCORE, data)
    assert len(bound) == 2
    changed = Dataset(LABEL.copy(), SIZES)
    changed.label[0] = 2.0 if LABEL[0] != 2.0 else 1.0
    apart = Dataset(LABEL, [ROWS])
    values = [{n: v for n, v, *_ in metric(SCORE, d)} for d in (changed, apart)]
    assert len(bound) == 4
    frame = pl.DataFrame({"query_id": 0, "label": LABEL, "score": SCORE})
    assert values[1]["ndcg@3"] == pr.evaluate(frame, "ndcg@3")["ndcg@3"].item()
    for seed in range(40):  # what is held does not grow
        draw = random.Random(seed)
        metric(SCORE, Dataset(np.array([draw.random() for _ in LABEL]), SIZES))
    assert len(metric._measures._held) <= arrays.MOST + 1
