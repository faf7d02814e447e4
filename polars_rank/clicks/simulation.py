"""Click logs with known truth: who saw what, who clicked, and why.

Users of a known model look at lists that known rankers made, so every estimate can be
compared with the truth. All draws are vectorised over impressions; a loop goes over the
places of the list, where a user's next step depends on the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl
import polars.selectors as cs

from polars_rank.core.source import lazy_source

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Simulation", "UserModel", "simulate"]

UserModel: TypeAlias = Literal["pbm", "trust", "cascade", "dcm", "dbn", "ubm"]
Logging: TypeAlias = Literal["rankers", "plackett_luce"]

CHUNK = 250_000  # impressions that are drawn at a time
START = 1_767_225_600  # seconds: 2026-01-01


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """A simulated log and the truth behind it; made by :func:`simulate`.

    ``simulate`` describes the other attributes, which are its parameters.

    Attributes
    ----------
    impressions
        Number of impressions; the log has ``k`` rows for each.
    """

    impressions: int
    queries: int
    docs: int
    k: int
    user: Mapping[UserModel, float]
    examination: Sequence[float]
    eps_plus: Sequence[float]
    eps_minus: Sequence[float]
    continuation: float
    gamma: float
    logging: Logging
    rankers: int
    temperature: float
    randomized: float
    swap: float
    interleaved: float
    users: int
    user_sd: float
    arms: int
    lift: float
    zipf: float
    seed: int

    @cached_property
    def log(self) -> pl.DataFrame:
        """The log, one row per shown document, in order of time and position.

        ``impression_id``, ``query_id``, ``doc_id``, ``position`` (from 1), ``clicked``;
        ``dwell`` in seconds, null without a click; ``time`` of the impression and
        ``clicked_at``; ``user_id``; ``score`` of the production ranker and
        ``new_score`` of a better one. Where asked for: ``arm``, ``team``,
        ``randomized``, ``swap`` (the place that took part in the swap with the first)
        and ``swapped``.
        """
        return pl.concat(self.batches(), rechunk=False)

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows of ``log``, some impressions at a time."""
        ends = [*range(0, self.impressions, CHUNK), self.impressions]
        for number, (first, end) in enumerate(pairwise(ends)):
            yield self._batch(number, first, end)

    def scan(self) -> pl.LazyFrame:
        """The log as a lazy frame, drawn as it is read: more rows than memory holds.

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
        """One row per query and document that can be shown.

        ``traffic`` is the query's share of the impressions; ``relevance`` the
        probability that an examined document is clicked, a mean over the users;
        ``satisfaction`` the probability that a click satisfies; ``score`` and
        ``new_score`` are those of the log.
        """
        import numpy as np

        world, (queries, docs) = self._world, (self.queries, self.docs)
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
        """One row per position: ``position``, ``propensity``, ``alpha``, ``beta``.

        The probability of a click is ``alpha * relevance + beta``; ``propensity`` is
        ``alpha + beta`` of the position by that of the first: relative examination in
        a position-based model.

        Raises
        ------
        ValueError
            If some users decide where to stop by what they clicked.
        """
        import numpy as np

        (model, *others) = self.user
        if others or model not in ("pbm", "trust"):
            msg = (
                f"users of {', '.join(self.user)} have no propensities: whether they "
                'examine a position depends on what they clicked; use user="pbm" or '
                '"trust"'
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
        """True mean over impressions of ``sum(weight(rank) * relevance)``.

        The documents that an impression showed are ranked anew by ``score``, a column
        of ``truth`` or an array of its length. ``weight`` of a 1-based rank defaults
        to ``1 / log2(rank + 1)``, that of DCG. Computed, not sampled: over queries and
        rankers. Needs ``logging="rankers"`` without interleaving.
        """
        import numpy as np

        if self.logging != "rankers" or self.interleaved:
            msg = "value() needs logging='rankers' and interleaved=0: it goes over them"
            raise ValueError(msg)
        column = self.truth[score].to_numpy() if isinstance(score, str) else score
        scores = np.asarray(column, dtype=float).reshape(self.queries, self.docs)
        ranks = np.arange(1, self.k + 1)
        weights = 1 / np.log2(ranks + 1) if weight is None else weight(ranks)
        total = np.zeros(self.queries)
        for order in self._world.orders:
            best = np.argsort(-np.take_along_axis(scores, order, 1), 1, kind="stable")
            shown = np.take_along_axis(self._relevance, order, 1)
            total += np.take_along_axis(shown, best, 1) @ weights
        return float(self._world.traffic @ total / self.rankers)

    @cached_property
    def _world(self) -> _World:
        return _World.of(self)

    @cached_property
    def _relevance(self) -> Array:
        """Of each document, the mean over users of the chance of a click, if seen."""
        import numpy as np

        world = self._world
        if not self.user_sd:
            return world.attraction
        known = np.linspace(world.logit.min(), world.logit.max(), 1000)
        means = [_sigmoid(x + world.user_effect).mean() for x in known]
        relevance: Array = np.interp(world.logit, known, means)
        return relevance

    # -- drawing

    def _batch(self, number: int, first: int, end: int) -> pl.DataFrame:
        import numpy as np

        rng = np.random.default_rng([self.seed, 1 + number])
        world, n, k = self._world, end - first, self.k
        query = np.searchsorted(world.cumulative, rng.random(n), side="right")
        query = np.minimum(query, self.queries - 1).astype(np.uint32)
        user = rng.integers(self.users, size=n, dtype=np.uint32)
        shown, design = self._lists(rng, query)
        flat = (query[:, None] * np.uint32(self.docs) + shown).astype(np.uint32)
        chance = world.attraction.ravel().astype(np.float32)[flat]
        if self.user_sd:
            effect = world.user_effect[user].astype(np.float32)
            chance = _sigmoid(
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
        if self.arms > 1:
            frame = frame.with_columns(arm=_letters(np.repeat(arm, k), self.arms))
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
        """The documents that each impression shows, and how they came there."""
        import numpy as np

        world, n, k = self._world, len(query), self.k
        if self.logging == "rankers":
            shown = world.orders[rng.integers(self.rankers, size=n), query].copy()
        else:
            noise = rng.gumbel(size=(n, self.docs))
            noisy = world.score[query] / self.temperature + noise
            shown = np.argsort(-noisy, axis=1, kind="stable")[:, :k].astype(np.uint32)
        design: dict[str, Array] = {}
        lot = rng.random(n)
        if self.randomized:
            chosen = lot < self.randomized
            shown[chosen] = rng.permuted(shown[chosen], axis=1)
            design["randomized"] = chosen
        if self.swap:
            part = np.flatnonzero((lot >= self.randomized) & (lot < self._swap_end))
            other = rng.integers(1, k, size=len(part))
            coin = rng.random(len(part)) < 0.5
            design["swap"] = np.zeros(n, np.uint8)
            design["swap"][part] = other + 1
            design["swapped"] = np.zeros(n, bool)
            design["swapped"][part] = coin
            rows, places = part[coin], other[coin]
            first = shown[rows, 0].copy()
            shown[rows, 0], shown[rows, places] = shown[rows, places], first
        if self.interleaved:
            chosen = (lot >= self._swap_end) & (lot < self._swap_end + self.interleaved)
            teams = np.full((n, k), -1, np.int8)
            shown[chosen], teams[chosen] = _team_draft(rng, world, query[chosen], k)
            design["team"] = teams.ravel()
        return shown, design

    @property
    def _swap_end(self) -> float:
        return self.randomized + self.swap

    def _clicks(
        self, rng: np.random.Generator, chance: Array, satisfied: Array
    ) -> Array:
        """Who clicks what, by the model of each user."""
        import numpy as np

        shares = np.array(list(self.user.values()), dtype=float)
        kind = np.searchsorted(
            np.cumsum(shares / shares.sum()), rng.random(len(chance))
        )
        clicked = np.zeros(chance.shape, bool)
        for i, model in enumerate(self.user):
            rows = slice(None) if len(shares) == 1 else kind == i
            walk = _WALKS[model]
            clicked[rows] = walk(self, rng, chance[rows], satisfied[rows])
        return clicked


@dataclass(frozen=True, kw_only=True, eq=False)
class _World:
    """The draws made once per simulation: documents, rankers and users."""

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
    def of(cls, design: Simulation) -> _World:
        import numpy as np

        rng = np.random.default_rng([design.seed, 0])
        shape = design.queries, design.docs
        traffic = 1.0 / np.arange(1, design.queries + 1) ** design.zipf
        traffic /= traffic.sum()
        attraction = np.clip(rng.beta(0.6, 2, shape), 0.01, 0.98)
        logit = np.log(attraction / (1 - attraction))
        score = logit + rng.standard_normal(shape)
        noise = rng.standard_normal((design.rankers, *shape)) * design.temperature
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
            user_effect=rng.standard_normal(design.users) * design.user_sd,
            arm=rng.integers(design.arms, size=design.users, dtype=np.uint8),
        )


def _behind(
    rng: np.random.Generator, clicked: Array, satisfied: Array, time: Array
) -> dict[str, pl.Series]:
    """When and how long: of clicks only."""
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
    """A for 0, B for 1 ...; null below 0."""
    names = [chr(ord("A") + i) for i in range(several)]
    place = pl.Series(number)
    place = place.set(place < 0, None)
    return pl.Series(names, dtype=pl.Enum(names)).gather(place)


def _team_draft(
    rng: np.random.Generator, world: _World, query: Array, k: int
) -> tuple[Array, Array]:
    """Team-draft interleaving of both scores: team 0 is the production ranker."""
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


# -- users


def _independent(
    design: Simulation, rng: np.random.Generator, chance: Array, _: Array
) -> Array:
    import numpy as np

    theta = np.array(design.examination, dtype=np.float32)
    return rng.random(chance.shape, dtype=np.float32) < theta * chance


def _trusting(
    design: Simulation, rng: np.random.Generator, chance: Array, _: Array
) -> Array:
    import numpy as np

    theta, plus, minus = np.array(
        [design.examination, design.eps_plus, design.eps_minus], dtype=np.float32
    )
    p = theta * (plus * chance + minus * (1 - chance))
    clicked: Array = rng.random(chance.shape, dtype=np.float32) < p
    return clicked


def _browsing(
    rng: np.random.Generator,
    chance: Array,
    after_click: Callable[[int], Array | float],
    after_skip: float,
) -> Array:
    """Down the list until the user stops: after a click or a skip, by chance."""
    import numpy as np

    n, k = chance.shape
    here, clicked = np.ones(n, bool), np.zeros((n, k), bool)
    for place in range(k):
        clicked[:, place] = here & (rng.random(n) < chance[:, place])
        on = np.where(clicked[:, place], after_click(place), after_skip)
        here &= rng.random(n) < on
    return clicked


def _cascade(
    _: Simulation, rng: np.random.Generator, chance: Array, __: Array
) -> Array:
    return _browsing(rng, chance, lambda place: 0.0, 1.0)


def _dcm(
    design: Simulation, rng: np.random.Generator, chance: Array, _: Array
) -> Array:
    return _browsing(rng, chance, lambda place: design.continuation, 1.0)


def _dbn(
    design: Simulation, rng: np.random.Generator, chance: Array, satisfied: Array
) -> Array:
    import numpy as np

    def after(place: int) -> Array:
        stays: Array = np.where(satisfied[:, place], 0.0, design.gamma)
        return stays

    return _browsing(rng, chance, after, design.gamma)


def _ubm(
    design: Simulation, rng: np.random.Generator, chance: Array, _: Array
) -> Array:
    """Examination by the distance to the click above."""
    import numpy as np

    n, k = chance.shape
    theta = np.array(design.examination)
    distance, clicked = np.zeros(n, int), np.zeros((n, k), bool)
    for place in range(k):
        clicked[:, place] = rng.random(n) < theta[distance] * chance[:, place]
        distance = np.where(clicked[:, place], 0, distance + 1)
    return clicked


_WALKS: dict[UserModel, Callable[..., Array]] = {
    "pbm": _independent,
    "trust": _trusting,
    "cascade": _cascade,
    "dcm": _dcm,
    "dbn": _dbn,
    "ubm": _ubm,
}


def _sigmoid(x: Array) -> Array:
    import numpy as np

    chance: Array = 1 / (1 + np.exp(-x))
    return chance


def simulate(
    impressions: int,
    *,
    queries: int = 2000,
    docs: int = 15,
    k: int = 10,
    user: UserModel | Mapping[UserModel, float] = "pbm",
    examination: Sequence[float] | None = None,
    eta: float = 1.0,
    eps_plus: Sequence[float] | None = None,
    eps_minus: Sequence[float] | None = None,
    continuation: float = 0.7,
    gamma: float = 0.9,
    logging: Logging = "rankers",
    rankers: int = 3,
    temperature: float = 1.0,
    randomized: float = 0.0,
    swap: float = 0.0,
    interleaved: float = 0.0,
    users: int | None = None,
    user_sd: float = 0.0,
    arms: int = 1,
    lift: float = 0.0,
    zipf: float = 1.1,
    seed: int = 0,
) -> Simulation:
    """Simulate a click log whose truth is known.

    Each query has its documents, with a relevance (the probability that a user who
    examines the document clicks it) from Beta(0.6, 2). Production ranks by its logit
    plus noise: a good ranker, not a perfect one. Nothing is drawn before ``log`` is
    asked for. The same arguments give the same log.

    Parameters
    ----------
    impressions
        Number of impressions; each shows ``k`` documents.
    queries, docs
        Number of queries, and of documents that each of them can show.
    k
        Length of the list.
    user
        How users look at the list: ``"pbm"`` (by position), ``"trust"`` (and they
        click more easily at the top), ``"cascade"`` (until the first click), ``"dcm"``
        (go on after a click with probability ``continuation``), ``"dbn"`` (leave when
        satisfied, go on with ``gamma`` otherwise), ``"ubm"`` (examination by the
        distance to the click above); or the shares of several.
    examination
        Probability of examining each position; ``1 / position ** eta`` unless given.
        For ``"ubm"``: at each distance from the click above, or from the top.
    eta
        Exponent of the default ``examination``.
    eps_plus, eps_minus
        For ``"trust"``: probability of clicking an examined document that is relevant,
        or not, at each position; ``1 / (1 + 0.005 i)`` and ``0.65 / (i + 1)`` at
        0-based ``i`` unless given.
    continuation, gamma
        Probability of going on, in ``"dcm"`` and ``"dbn"``.
    logging
        ``"rankers"``: each impression is served by one of ``rankers`` fixed orders, by
        score plus noise of standard deviation ``temperature``; ``"plackett_luce"``: an
        order of its own, by score divided by ``temperature`` plus Gumbel noise.
    rankers, temperature
        Number of rankers and noise of their orders; see ``logging``.
    randomized
        Share of the impressions whose list is shuffled.
    swap
        Share of the impressions that take part in a swap: a fair coin decides whether
        the first document and that at a random other position change places.
    interleaved
        Share of the impressions that show a team draft of the rankings by ``score``
        (team A) and ``new_score`` (team B).
    users
        Number of users, a tenth of the impressions unless given.
    user_sd
        Standard deviation of the user's effect on the logit of a click.
    arms
        Number of arms; users are assigned at random.
    lift
        Relative change of relevance in all arms but the first.
    zipf
        Exponent of the traffic: that of the i-th query is proportional to ``1 / i **
        zipf``.
    seed
        Of all random numbers.

    Returns
    -------
    A :class:`Simulation`: ``log``, ``truth``, ``propensities`` and ``value()``.

    Raises
    ------
    ValueError
        For impossible designs.

    Examples
    --------
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(1000, seed=1)
    >>> simulation.log.height
    10000
    >>> simulation.propensities["propensity"].head(3).to_list()
    [1.0, 0.5, 0.3333333333333333]
    """
    places = range(k)
    shares = {user: 1.0} if isinstance(user, str) else dict(user)
    design = Simulation(
        impressions=impressions,
        queries=queries,
        docs=docs,
        k=k,
        user=shares,
        examination=examination or [(i + 1) ** -eta for i in places],
        eps_plus=_trust(shares, eps_plus, [1 / (1 + 0.005 * i) for i in places], 1.0),
        eps_minus=_trust(shares, eps_minus, [0.65 / (i + 1) for i in places], 0.0),
        continuation=continuation,
        gamma=gamma,
        logging=logging,
        rankers=rankers,
        temperature=temperature,
        randomized=randomized,
        swap=swap,
        interleaved=interleaved,
        users=max(impressions // 10, 1) if users is None else users,
        user_sd=user_sd,
        arms=arms,
        lift=lift,
        zipf=zipf,
        seed=seed,
    )
    _require_possible(design)
    return design


def _trust(
    user: Mapping[UserModel, float],
    given: Sequence[float] | None,
    default: list[float],
    without: float,
) -> Sequence[float]:
    if "trust" not in user:
        return [without] * len(default)
    return default if given is None else given


def _require_possible(design: Simulation) -> None:
    """Raise ``ValueError`` that names the first impossible argument."""
    known = get_args(UserModel)
    for name in ("impressions", "queries", "docs", "k", "rankers", "users", "arms"):
        value = getattr(design, name)
        if type(value) is not int or value < 1:
            _refuse(name, "a whole number of at least 1", value)
    for name in ("randomized", "swap", "interleaved", "continuation", "gamma"):
        if not 0 <= getattr(design, name) <= 1:
            _refuse(name, "between 0 and 1", getattr(design, name))
    if design.k > design.docs:
        _refuse("k", f"at most docs ({design.docs})", design.k)
    if design.k > 255:
        _refuse("k", "at most 255", design.k)
    if design.arms > 26:
        _refuse("arms", "at most 26", design.arms)
    if design.queries * design.docs >= 2**32:
        _refuse("queries * docs", "below 2^32", design.queries * design.docs)
    if design._swap_end + design.interleaved > 1:
        total = design._swap_end + design.interleaved
        _refuse("randomized + swap + interleaved", "at most 1", total)
    if design.swap and design.k < 2:
        _refuse("k", "at least 2 with swap", design.k)
    if not design.user or not set(design.user) <= set(known):
        _refuse("user", f"one or more of {', '.join(known)}", [*design.user])
    if not all(share > 0 for share in design.user.values()):
        _refuse("user", "of positive shares", dict(design.user))
    if design.logging not in get_args(Logging):
        _refuse("logging", f"one of {', '.join(get_args(Logging))}", design.logging)
    for name in ("examination", "eps_plus", "eps_minus"):
        values = list(getattr(design, name))
        if len(values) != design.k or not all(0 <= v <= 1 for v in values):
            _refuse(name, f"k = {design.k} probabilities", values)
    if design.temperature <= 0:
        _refuse("temperature", "above 0", design.temperature)
    if design.user_sd < 0:
        _refuse("user_sd", "at least 0", design.user_sd)


def _refuse(name: str, rule: str, value: object) -> None:
    msg = f"{name} must be {rule}, not {value!r}"
    raise ValueError(msg)
