"""Few judgments by people, many by a model: prediction-powered inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, Unpack, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.options import DOC, EvaluationOptions
from polars_rank._engine.schema import Column, align_ids, require_columns
from polars_rank._statistics.distributions import t_quantile
from polars_rank._statistics.intervals import require_level
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import (
    DEFAULT,
    ConventionLike,
    complete_arguments,
    convention_of,
)
from polars_rank.evaluation.evaluate import per_query
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures
from polars_rank.uncertainty.bounds.labelings import is_additive
from polars_rank.uncertainty.bounds.several_runs import (
    Runs,
    keys_of,
    stacked,
    system_asked,
)

Array: TypeAlias = npt.NDArray[np.float64]
Sampled: TypeAlias = Literal["queries", "documents"]
SHOWN = 5


def estimate(
    run: Runs,
    measures: Measures,
    *,
    qrels: FrameLike,
    model_qrels: FrameLike,
    sampled: Sampled = "queries",
    share: float | None = None,
    level: float = 0.95,
    system: str | None = None,
    query: str | Sequence[str] = "query_id",
    convention: ConventionLike = DEFAULT,
    **options: Unpack[EvaluationOptions],
) -> pl.DataFrame:
    """Estimate a mean from few judgments by people and many by a model.

    The model's labels may be biased: where both judged, the difference is measured and
    subtracted. The weight of the model follows from how well it agrees with people; an
    uninformative model leaves the estimate from people's judgments as it is.

    Parameters
    ----------
    run, measures, query, convention, options
        As in :func:`evaluate`; ``run`` can be a mapping of systems to their runs.
    qrels
        Judgments by people, of a random sample. A document whose label is null is
        unjudged, in the model's labels as well.
    model_qrels
        Labels by the model, of all queries: also of those that people judged.
    sampled
        Units that were drawn at random for people to judge: ``"queries"``, each with
        all its documents, for any measure that is a mean over queries; or single
        ``"documents"`` of all queries, for measures that add up over documents (dcg,
        cg, precision@k, rbp with a number as scale, sdcg, insq).
    share
        Probability with which a document was drawn, for sampled documents. Default: the
        share of the model's labels that people judged.
    level
        Confidence level of the intervals.
    system
        Column of ``run`` with the system.

    Returns
    -------
    One row per system and measure: ``measure``; ``queries``, and ``judged``, how many
    of them people judged; ``estimate`` with its standard error ``se``, ``lower`` and
    ``upper``; ``human``, ``human_se``, ``human_lower``, ``human_upper``, from people's
    judgments alone; ``model``, the mean under the model's labels; ``weight`` of the
    model; and ``worth``: how many times as many judgments people alone would need for
    so narrow an interval. Errors and intervals are null where people judged fewer than
    four queries.

    Raises
    ------
    ValueError
        For wrong arguments, and for measures that are not means over queries, or do not
        add up over documents that were sampled.
    DataError
        For rows that break a rule, and where the model lacks what people judged.

    Notes
    -----
    With values y by people and f by the model on n queries, and f on N others, the
    estimate is ``mean(y) + w (mean f of the others - mean f of the n)``. Its variance,
    ``var(y - w f) / n + w^2 var(f of the others) / N``, is least at the ``weight`` w
    (not below 0). Each variance is that of its own sample. Power tuning of the package
    ppi_py takes var(f) of both samples together: the same for many queries, and with
    few a weight that fits the judged ones less, and wider intervals.

    The weight is 0, and the estimate that from people alone, where all queries but one
    are judged: a single value has no variance, and would save at most 1 / (n + 1) of
    that of the mean. It is 0, too, where fewer than four are judged.

    Where the model's labels leave the value of a judged query undefined, as without a
    relevant document, f is the mean of the others.

    With sampled documents and share s, y is the query's value under people's labels,
    divided by s; f is its value under the model's labels of the same documents, divided
    by s, minus that under the model's labels of all documents.

    The intervals are Student's t, with one degree of freedom less for the weight, and
    deviations divided by ``1 - h`` for the leverage h (HC3). They hold for the
    population that the queries are a random sample of.

    Source: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 2023; the weight:
    Angelopoulos, Duchi and Zrnic, "PPI++", 2023, example 6.1; in ranking: Oosterhuis,
    Jagerman, Qin, Wang and Bendersky, KDD 2024.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": range(8), "doc_id": ["a"] * 8, "score": [1.0] * 8}
    ... )
    >>> model = run.with_columns(label=pl.Series([1, 0, 1, 1, 1, 0, 1, 0]))
    >>> human = model.head(4).with_columns(label=pl.Series([1, 0, 0, 1]))
    >>> found = pr.estimate(run, "precision@1", qrels=human, model_qrels=model)
    >>> found.select("estimate", "human", "model", "weight").row(0)
    (0.4285..., 0.5, 0.625, 0.2857...)
    """
    doc = options.get("doc", DOC)
    _require_possible(sampled, level, share)
    if not isinstance(doc, str):
        msg = (
            "an estimate tells documents apart: name the column of their ids with doc="
        )
        raise ValueError(msg)
    chosen = convention_of(convention, **{n: options.get(n) for n in SHORTCUTS})
    asked = _asked(measures, chosen, sampled)
    frame, column = stacked(run, system)
    keys = keys_of(query, column)
    label = options.get("label", "label")
    human = _labeled(qrels, "qrels", label)
    model = _labeled(model_qrels, "model_qrels", label)
    on = _shared_keys({"qrels": human, "model_qrels": model}, keys, doc, column)
    ids, names = dict(zip(on, on, strict=True)), ("qrels", "model_qrels")
    human, model = align_ids(human, model, ids, where=names)
    _require_known(human, model, on if sampled == "documents" else on[:-1], sampled)
    sides = {"human": human, "model": model}
    if sampled == "documents":
        sides["both"] = model.join(human.select(on), on=on, how="semi")

    def values(side: str) -> pl.LazyFrame:
        found: pl.LazyFrame = per_query(
            frame, list(asked), qrels=sides[side], query=keys, convention=convention,
            **options,
        )  # fmt: skip
        return found.unpivot(
            [m.name for m in asked], index=keys,
            variable_name="measure", value_name=side,
        )  # fmt: skip

    table = values("model")
    for side in (name for name in sides if name != "model"):
        table = table.join(
            values(side), on=[*keys, "measure"], how="left", nulls_equal=True,
            maintain_order="left",
        )  # fmt: skip
    with system_asked(frame, system):
        known = pl.any_horizontal(pl.col("human", "model").is_not_null())
        held = table.filter(known).collect(engine="streaming")
    if sampled == "documents":
        share = _share(human, model, on) if share is None else share
        held = _of_documents(held, share)
    by = ["measure"] if column is None else [column, "measure"]
    rows = [
        (*key, *_estimated(part, sampled, level))
        for key, part in held.group_by(by, maintain_order=True)
    ]
    order = pl.Enum([m.name for m in asked])
    schema = {k: held.schema[k] for k in by} | COLUMNS
    return (
        pl.DataFrame(rows, schema=schema, orient="row")
        .sort(*by[:-1], pl.col("measure").cast(order), maintain_order=True)
    )  # fmt: skip


def _require_possible(sampled: Sampled, level: float, share: float | None) -> None:
    if sampled not in get_args(Sampled):
        msg = f"sampled must be 'queries' or 'documents', not {sampled!r}"
        raise ValueError(msg)
    require_level(level)
    if share is not None and (sampled == "queries" or not 0 < share <= 1):
        msg = (
            "share is the probability, above 0 and up to 1, with which documents were "
            "drawn: for sampled='documents'"
        )
        raise ValueError(msg)


def _labeled(qrels: FrameLike, name: str, label: Column | None) -> pl.LazyFrame:
    """Return the rows with a label: without one, a document is unjudged."""
    frame = as_polars(qrels, name=name, kind="qrels").lazy()
    if label is None:  # every document that is listed is relevant
        return frame
    require_columns([label], frame.collect_schema(), where=name, argument="label")
    value = pl.col(label) if isinstance(label, str) else label
    return frame.filter(value.is_not_null())


def _shared_keys(
    sides: dict[str, pl.LazyFrame], keys: list[str], doc: str, system: str | None
) -> list[str]:
    """Return the ids that both have; only the system may be missing."""
    schemas = {name: side.collect_schema() for name, side in sides.items()}
    for name, known in schemas.items():
        for key in [*(k for k in keys if k != system), doc]:
            require_columns([key], known, where=name, argument="query")
    return [k for k in [*keys, doc] if all(k in known for known in schemas.values())]


COLUMNS: dict[str, Any] = {
    "queries": pl.UInt32,
    "judged": pl.UInt32,
    **dict.fromkeys(
        (
            "estimate", "se", "lower", "upper",
            "human", "human_se", "human_lower", "human_upper",
            "model", "weight", "worth",
        ),
        pl.Float64,
    ),
}  # fmt: skip


def _asked(measures: Measures, convention: Any, sampled: str) -> list[Any]:
    """Return the measures; refuse one that the estimate would not be one of."""
    asked = parse_measures(measures)
    for m in asked:
        if isinstance(m, Custom):
            if sampled == "documents":
                msg = f"it is not known whether {m.name!r} adds up over documents"
                raise ValueError(msg)
            continue
        if m.definition.aggregate != "mean":
            msg = f"{m.name} is not a mean over queries; it cannot be estimated"
            raise ValueError(msg)
        if sampled == "documents" and not _adds_up(m, convention):
            msg = (
                f"{m.name} does not add up over documents, so single documents tell "
                "nothing of it: have whole queries judged (sampled='queries'), or take "
                "dcg, cg, precision@k or rbp(scale=...)"
            )
            raise ValueError(msg)
    return [{m.name: m.function} if isinstance(m, Custom) else m for m in asked]


def _adds_up(measure: Measure, convention: Any) -> bool:
    arguments = complete_arguments(
        measure.definition, measure.arguments, convention=convention
    )
    return (
        is_additive(measure.metric, arguments)
        and convention.no_relevant_of(measure.metric, measure.no_relevant) == "zero"
        and convention.unjudged == "nonrelevant"
    )


def _require_known(
    human: pl.LazyFrame, model: pl.LazyFrame, on: list[str], sampled: str
) -> None:
    """Require labels by the model for everything that people judged."""
    lacking = human.select(on).unique().join(model, on=on, how="anti").collect()
    if len(lacking):
        examples = [
            row if len(on) > 1 else row[0] for row in lacking.head(SHOWN).rows()
        ]
        msg = (
            f"{len(lacking)} {sampled} that people judged have no label by the model, "
            f"e.g. {', '.join(map(repr, examples))}; label them by the model, too"
        )
        raise DataError(
            msg, rule="no_model_label", count=len(lacking), examples=examples
        )


def _share(human: pl.LazyFrame, model: pl.LazyFrame, on: list[str]) -> float:
    counts = [frame.select(pl.len()).collect().item() for frame in (human, model)]
    return counts[0] / counts[1] if counts[1] else 1.0


def _of_documents(held: pl.DataFrame, share: float) -> pl.DataFrame:
    """Compute unbiased values of all queries as if judged, and what corrects them.

    A query without a judged document has the value 0 under people's labels.
    """
    human = pl.col("human").fill_null(0.0) / share
    drawn = pl.col("both").fill_null(0.0) / share
    return held.with_columns(human=human, off=drawn - pl.col("model"))


def _estimated(part: pl.DataFrame, sampled: str, level: float) -> tuple[Any, ...]:
    """Compute the columns of one system and measure."""
    judged = part.filter(pl.col("human").is_not_null())
    y = judged["human"].to_numpy()
    n = len(y)
    if sampled == "documents":
        # A mean of 0 is known of what corrects: nothing is left to estimate.
        f, others = judged["off"].to_numpy(), np.zeros(0)
        known = 0.0
    else:
        others = part.filter(pl.col("human").is_null())["model"].to_numpy()
        known = float(others.mean()) if len(others) else 0.0
        f = judged["model"].fill_null(known).to_numpy()
    human = float(y.mean()) if n else None
    first = [len(part), n]
    last = part["model"].mean()
    if n < 4:
        nothing = [None] * 3
        return (*first, human, *nothing, human, *nothing, last, 0.0, None)
    s = np.cov(y, f)
    spread = 0.0
    if sampled == "queries":
        few = len(others) < 2
        spread = float("inf") if few else float(np.var(others, ddof=1)) / len(others)
    alone = s[0, 0] / n
    weight = 0.0
    if np.isfinite(spread) and (denominator := s[1, 1] / n + spread) > 1e-300:
        weight = max(0.0, float(s[0, 1] / n / denominator))
    value, variance, df = human, alone, n - 1
    if weight > 0:
        assert human is not None
        value = human + weight * (known - float(f.mean()))
        centered = f - f.mean()
        # Judgments that decide the weight are weighed up (HC3), or 40 would seem to
        # tell more than they do.
        pull = (
            (s[1, 1] / n) / (s[1, 1] / n + spread) * centered**2 / (centered**2).sum()
        )
        rest = (y - y.mean() - weight * centered) / (1.0 - pull).clip(1e-9)
        variance = float((rest**2).sum()) / (n - 1) / n + weight**2 * spread
        df = n - 2
    own = _interval(human, alone, n - 1, level)
    both = _interval(value, variance, df, level)
    width, best = own[2] - own[1], both[2] - both[1]
    worth = (width / best) ** 2 if best > 0 else None
    return (*first, value, *both, human, *own, last, weight, worth)


def _interval(
    value: float | None, variance: float, df: int, level: float
) -> tuple[float, float, float]:
    """Return the standard error, and the ends of Student's interval."""
    assert value is not None
    se = float(np.sqrt(variance))
    margin = float(t_quantile(0.5 + level / 2, df)) * se
    return se, value - margin, value + margin
