"""Draw click logs with known truth: who saw what, who clicked, and why.

Users of a known model look at lists that known rankers made, so every estimate can be
compared with the truth. All draws are vectorized over impressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_rank.clicks.simulation.design import Design
from polars_rank.clicks.simulation.users import USER_MODELS
from polars_rank.clicks.simulation.world import World, sigmoid
from polars_rank.core.source import lazy_source

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


CHUNK = 250_000  # impressions that are drawn at a time
START = 1_767_225_600  # seconds: 2026-01-01


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation(Design):
    """A simulated log and the truth behind it; made by :func:`simulate`.

    ``simulate`` describes the other attributes, which are its parameters.

    Attributes
    ----------
    n_impressions
        Number of impressions; the log has ``k`` rows for each.
    """

    def draw(self) -> pl.DataFrame:
        """Draw the log, one row per shown document, in order of time and position.

        ``impression_id``, ``query_id``, ``doc_id``, ``position`` (from 1), ``clicked``;
        ``dwell`` in seconds, null without a click; ``time`` of the impression and
        ``clicked_at``; ``user_id``; ``score`` of the production ranker and
        ``new_score`` of a better one. Where asked for: ``arm``, ``team``,
        ``randomized``, ``swap`` (the place that took part in the swap with the first)
        and ``swapped``.
        """
        return pl.concat(self.batches(), rechunk=False)

    def batches(self) -> Iterator[pl.DataFrame]:
        """Draw the rows of the log, some impressions at a time."""
        ends = [*range(0, self.n_impressions, CHUNK), self.n_impressions]
        for number, (first, end) in enumerate(pairwise(ends)):
            yield self._batch(number, first, end)

    def scan(self) -> pl.LazyFrame:
        """Scan the log, which is drawn as it is read: more rows than memory holds.

        For example ``simulation.scan().sink_parquet("log.parquet")``.
        """
        return lazy_source(
            lambda columns: self.batches(),
            self._batch(0, 0, 1).schema,
            name="simulated log",
            rereadable=True,
        )

    # -- the truth

    @cached_property
    def truth(self) -> pl.DataFrame:
        """Return one row per query and document that can be shown.

        ``traffic`` is the query's share of the impressions; ``relevance`` the
        probability that an examined document is clicked, a mean over the users;
        ``satisfaction`` the probability that a click satisfies; ``score`` and
        ``new_score`` are those of the log.
        """
        import numpy as np

        world, (queries, docs) = self._world, (self.n_queries, self.n_docs)
        return pl.DataFrame(
            {
                "query_id": np.repeat(np.arange(queries, dtype=np.uint32), docs),
                "doc_id": np.arange(queries * docs, dtype=np.uint32),
                "traffic": np.repeat(world.traffic, docs),
                "relevance": self._relevance.ravel(),
                "satisfaction": world.satisfaction.ravel(),
                "score": world.score.ravel(),
                "new_score": world.new_score.ravel(),
            }
        )

    @property
    def propensities(self) -> pl.DataFrame:
        """Return ``propensity``, ``alpha`` and ``beta``, one row per ``position``.

        The probability of a click is ``alpha * relevance + beta``; ``propensity`` is
        ``alpha + beta`` of the position divided by that of the first: the relative
        examination probability in a position-based model.

        Raises
        ------
        ValueError
            If some users decide where to stop by what they clicked.
        """
        import numpy as np

        (model, *others) = self.user_model
        if others or model not in ("pbm", "trust"):
            msg = (
                f"users of {', '.join(self.user_model)} have no propensities: whether "
                "they examine a position depends on what they clicked; use "
                'user_model="pbm" or "trust"'
            )
            raise ValueError(msg)
        theta, plus, minus = np.array(
            [self.examination, self.eps_plus, self.eps_minus], dtype=float
        )
        beta = theta * minus
        alpha = theta * (plus - minus)
        seen = alpha + beta
        return pl.DataFrame(
            {
                "position": np.arange(1, self.k + 1),
                "propensity": seen / seen[0],
                "alpha": alpha,
                "beta": beta,
            }
        )

    def value(
        self,
        score: str | Array = "new_score",
        weight: Callable[[Array], Array] | None = None,
    ) -> float:
        """Compute the true mean over impressions of ``sum(weight(rank) * relevance)``.

        The documents that an impression showed are ranked anew by ``score``, a column
        of ``truth`` or an array of its length. ``weight`` of a 1-based rank defaults
        to ``1 / log2(rank + 1)``, that of DCG. Computed, not sampled: over queries and
        rankers. Needs ``logging="rankers"`` without interleaving.
        """
        import numpy as np

        if self.logging != "rankers" or self.interleaved_share:
            msg = (
                "value() needs logging='rankers' and interleaved_share=0: it goes over "
                "the rankers"
            )
            raise ValueError(msg)
        column = self.truth[score].to_numpy() if isinstance(score, str) else score
        scores = np.asarray(column, dtype=float).reshape(self.n_queries, self.n_docs)
        ranks = np.arange(1, self.k + 1)
        weights = 1 / np.log2(ranks + 1) if weight is None else weight(ranks)
        total = np.zeros(self.n_queries)
        for order in self._world.orders:
            best = np.argsort(-np.take_along_axis(scores, order, 1), 1, kind="stable")
            shown = np.take_along_axis(self._relevance, order, 1)
            total += np.take_along_axis(shown, best, 1) @ weights
        return float(self._world.traffic @ total / self.n_rankers)

    @cached_property
    def _world(self) -> World:
        return World.of(self)

    @cached_property
    def _relevance(self) -> Array:
        """Compute the mean over users of the chance of a click, if seen."""
        import numpy as np

        world = self._world
        if not self.user_sd:
            return world.attraction
        known = np.linspace(world.logit.min(), world.logit.max(), 1000)
        means = [sigmoid(x + world.user_effect).mean() for x in known]
        relevance: Array = np.interp(world.logit, known, means)
        return relevance

    # -- drawing

    def _batch(self, number: int, first: int, end: int) -> pl.DataFrame:
        import numpy as np

        rng = np.random.default_rng([self.seed, 1 + number])
        world, n, k = self._world, end - first, self.k
        query = np.searchsorted(world.cumulative, rng.random(n), side="right")
        query = np.minimum(query, self.n_queries - 1).astype(np.uint32)
        user = rng.integers(self.n_users, size=n, dtype=np.uint32)
        shown, design = self._lists(rng, query)
        flat = (query[:, None] * np.uint32(self.n_docs) + shown).astype(np.uint32)
        chance = world.attraction.ravel().astype(np.float32)[flat]
        if self.user_sd:
            effect = world.user_effect[user].astype(np.float32)
            chance = sigmoid(
                world.logit.ravel().astype(np.float32)[flat] + effect[:, None]
            )
        arm = world.arm[user]
        if self.lift:
            chance = np.where(arm[:, None] > 0, chance * (1 + self.lift), chance)
            chance = np.clip(chance, 0, 1)
        satisfied = (
            rng.random((n, k), dtype=np.float32)
            < (world.satisfaction.ravel().astype(np.float32)[flat])
        )
        clicked = self._clicks(rng, chance, satisfied)
        time = START + np.sort(rng.random(n)) + np.arange(first, end)
        rows = {
            "impression_id": np.repeat(np.arange(first, end, dtype=np.uint32), k),
            "query_id": np.repeat(query, k),
            "doc_id": flat.ravel(),
            "position": np.tile(np.arange(1, k + 1, dtype=np.uint8), n),
            "clicked": clicked.ravel(),
            "user_id": np.repeat(user, k),
            "score": world.score.ravel().astype(np.float32)[flat.ravel()],
            "new_score": world.new_score.ravel().astype(np.float32)[flat.ravel()],
        }
        frame = pl.DataFrame(rows).with_columns(
            **_behind(rng, clicked, satisfied, time)
        )
        if self.n_arms > 1:
            frame = frame.with_columns(arm=_letters(np.repeat(arm, k), self.n_arms))
        return frame.with_columns(
            pl.Series(name, column if len(column) == n * k else np.repeat(column, k))
            for name, column in design.items()
        ).with_columns(
            cs.by_name("swap", require_all=False).replace(0, None),
            cs.by_name("team", require_all=False).map_batches(_letters),
        )

    def _lists(
        self, rng: np.random.Generator, query: Array
    ) -> tuple[Array, dict[str, Array]]:
        """Draw the documents that each impression shows, and how they came there."""
        import numpy as np

        world, n, k = self._world, len(query), self.k
        if self.logging == "rankers":
            shown = world.orders[rng.integers(self.n_rankers, size=n), query].copy()
        else:
            noise = rng.gumbel(size=(n, self.n_docs))
            noisy = world.score[query] / self.temperature + noise
            shown = np.argsort(-noisy, axis=1, kind="stable")[:, :k].astype(np.uint32)
        design: dict[str, Array] = {}
        lot = rng.random(n)
        if self.randomized_share:
            chosen = lot < self.randomized_share
            shown[chosen] = rng.permuted(shown[chosen], axis=1)
            design["randomized"] = chosen
        if self.swap_share:
            begin = self.randomized_share
            part = np.flatnonzero((lot >= begin) & (lot < self.swap_end))
            other = rng.integers(1, k, size=len(part))
            coin = rng.random(len(part)) < 0.5
            design["swap"] = np.zeros(n, np.uint8)
            design["swap"][part] = other + 1
            design["swapped"] = np.zeros(n, bool)
            design["swapped"][part] = coin
            rows, places = part[coin], other[coin]
            first = shown[rows, 0].copy()
            shown[rows, 0], shown[rows, places] = shown[rows, places], first
        if self.interleaved_share:
            end = self.swap_end + self.interleaved_share
            chosen = (lot >= self.swap_end) & (lot < end)
            teams = np.full((n, k), -1, np.int8)
            shown[chosen], teams[chosen] = _team_draft(rng, world, query[chosen], k)
            design["team"] = teams.ravel()
        return shown, design

    def _clicks(
        self, rng: np.random.Generator, chance: Array, satisfied: Array
    ) -> Array:
        """Draw who clicks what, by the model of each user."""
        import numpy as np

        shares = np.array(list(self.user_model.values()), dtype=float)
        kind = np.searchsorted(
            np.cumsum(shares / shares.sum()), rng.random(len(chance))
        )
        clicked = np.zeros(chance.shape, bool)
        for i, model in enumerate(self.user_model):
            rows = slice(None) if len(shares) == 1 else kind == i
            walk = USER_MODELS[model]
            clicked[rows] = walk(self, rng, chance[rows], satisfied[rows])
        return clicked


def _behind(
    rng: np.random.Generator, clicked: Array, satisfied: Array, time: Array
) -> dict[str, pl.Series]:
    """Draw when and how long: of clicks only."""
    import numpy as np

    n, k = clicked.shape
    rows, places = np.nonzero(clicked)
    content = satisfied[rows, places]
    dwell = np.where(content, 60, 8) * rng.lognormal(0, 0.6, len(rows))
    after = 1.5 + 1.2 * places + rng.exponential(2, len(rows))
    at = rows * k + places
    seconds = np.full(n * k, np.nan, np.float32)
    seconds[at] = dwell
    moment = (time * 1e6).astype(np.int64)
    moments = np.zeros(n * k, np.int64)
    moments[at] = moment[rows] + (after * 1e6).astype(np.int64)
    clicked_at = pl.Series(moments)
    return {
        "dwell": pl.Series(seconds).fill_nan(None),
        "time": pl.Series(np.repeat(moment, k)).cast(pl.Datetime("us")),
        "clicked_at": clicked_at.set(clicked_at == 0, None).cast(pl.Datetime("us")),
    }


def _letters(number: Array | pl.Series, several: int = 2) -> pl.Series:
    """Write A for 0, B for 1 ...; null below 0."""
    names = [chr(ord("A") + i) for i in range(several)]
    place = pl.Series(number)
    place = place.set(place < 0, None)
    return pl.Series(names, dtype=pl.Enum(names)).gather(place)


def _team_draft(
    rng: np.random.Generator, world: World, query: Array, k: int
) -> tuple[Array, Array]:
    """Interleave both scores by team draft: team 0 is the production ranker."""
    import numpy as np

    by_team = [
        np.argsort(-score, axis=1, kind="stable")[query].astype(np.uint32)
        for score in (world.score, world.new_score)
    ]
    n = len(query)
    rows = np.arange(n)
    taken = np.zeros(by_team[0].shape, bool)
    lists, teams = np.zeros((n, k), np.uint32), np.zeros((n, k), np.int8)
    size = np.zeros((n, 2), int)
    for place in range(k):
        coin = rng.random(n) < 0.5
        team = np.where(size[:, 0] == size[:, 1], coin, size[:, 1] < size[:, 0])
        order = np.where(team[:, None], by_team[1], by_team[0])
        doc = order[rows, np.argmin(np.take_along_axis(taken, order, 1), axis=1)]
        taken[rows, doc] = True
        lists[:, place], teams[:, place] = doc, team
        size[rows, team.astype(int)] += 1
    return lists, teams
