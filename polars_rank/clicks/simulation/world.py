"""Draw what is drawn once per simulation: documents, rankers and users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_rank.clicks.simulation.design import Design

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Documents with their relevance and scores, orders of rankers, users and arms.

    Arrays go by query and document, or by user.
    """

    traffic: Array
    cumulative: Array
    attraction: Array
    logit: Array
    satisfaction: Array
    score: Array
    new_score: Array
    orders: Array
    user_effect: Array
    arm: Array

    @classmethod
    def of(cls, design: Design) -> World:
        """Draw the world of a design."""
        import numpy as np

        rng = np.random.default_rng([design.seed, 0])
        shape = design.n_queries, design.n_docs
        traffic = 1.0 / np.arange(1, design.n_queries + 1) ** design.zipf
        traffic /= traffic.sum()
        attraction = np.clip(rng.beta(0.6, 2, shape), 0.01, 0.98)
        logit = np.log(attraction / (1 - attraction))
        score = logit + rng.standard_normal(shape)
        noise = rng.standard_normal((design.n_rankers, *shape)) * design.temperature
        orders = np.argsort(-(score + noise), axis=2, kind="stable")
        return cls(
            traffic=traffic,
            cumulative=np.cumsum(traffic),
            attraction=attraction,
            logit=logit,
            satisfaction=rng.beta(2, 3, shape),
            score=score,
            new_score=logit + 0.5 * rng.standard_normal(shape),
            orders=orders[:, :, : design.k].astype(np.uint32),
            user_effect=rng.standard_normal(design.n_users) * design.user_sd,
            arm=rng.integers(design.n_arms, size=design.n_users, dtype=np.uint8),
        )


def sigmoid(x: Array) -> Array:
    """Return the probability of a logit."""
    import numpy as np

    chance: Array = 1 / (1 + np.exp(-x))
    return chance
