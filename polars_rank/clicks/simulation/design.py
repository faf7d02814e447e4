"""What a simulation is asked for: queries, users, rankers, and how they mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Logging: TypeAlias = Literal["rankers", "plackett_luce"]
UserModel: TypeAlias = Literal["pbm", "trust", "cascade", "dcm", "dbn", "ubm"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """The parameters of ``simulate``, complete and checked."""

    n_impressions: int
    n_queries: int
    n_docs: int
    k: int
    user_model: Mapping[UserModel, float]
    examination: Sequence[float]
    eps_plus: Sequence[float]
    eps_minus: Sequence[float]
    continuation: float
    gamma: float
    logging: Logging
    n_rankers: int
    temperature: float
    randomized_share: float
    swap_share: float
    interleaved_share: float
    n_users: int
    user_sd: float
    n_arms: int
    lift: float
    zipf: float
    seed: int

    @property
    def swap_end(self) -> float:
        """Return share of the impressions that are shuffled, or take part in a swap."""
        return self.randomized_share + self.swap_share
