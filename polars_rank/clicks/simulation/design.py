"""A design of a simulation: its parameters, and which of them are possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from polars_rank.clicks.simulation.draw import Logging, Simulation
from polars_rank.clicks.simulation.users import UserModel


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
    examines the document clicks it) from Beta(0.6, 2). The production ranker's
    score is its logit plus noise: a good ranker, not a perfect one. Nothing is drawn
    before ``log`` is asked for. The same arguments give the same log.

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
    for name, value in (("impressions", impressions), ("k", k)):
        if type(value) is not int or value < 1:
            _refuse(name, "a whole number of at least 1", value)
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


COUNTS = ("impressions", "queries", "docs", "k", "rankers", "users", "arms")
SHARES = ("randomized", "swap", "interleaved", "continuation", "gamma")


def _require_possible(design: Simulation) -> None:
    """Raise ``ValueError`` that names the first impossible argument."""
    for name, rule, possible, value in _rules(design):
        if not possible:
            _refuse(name, rule, value)


def _rules(d: Simulation) -> Iterator[tuple[str, str, bool, object]]:
    """Yield each argument with its rule, whether it keeps the rule, and its value.

    One after the other, since a later rule may need that the earlier ones hold.
    """
    for name in COUNTS:
        value = getattr(d, name)
        rule = "a whole number of at least 1"
        yield name, rule, type(value) is int and value >= 1, value
    for name in SHARES:
        value = getattr(d, name)
        yield name, "between 0 and 1", 0 <= value <= 1, value
    yield "k", f"at most docs ({d.docs})", d.k <= d.docs, d.k
    yield "k", "at most 255", d.k <= 255, d.k
    yield "arms", "at most 26", d.arms <= 26, d.arms
    pairs = d.queries * d.docs
    yield "queries * docs", "below 2^32", pairs < 2**32, pairs
    total = d.swap_end + d.interleaved
    yield "randomized + swap + interleaved", "at most 1", total <= 1, total
    yield "k", "at least 2 with swap", not d.swap or d.k >= 2, d.k
    known, models = get_args(UserModel), [*d.user]
    possible = bool(models) and {*models} <= {*known}
    yield "user", f"one or more of {', '.join(known)}", possible, models
    possible = all(share > 0 for share in d.user.values())
    yield "user", "of positive shares", possible, dict(d.user)
    logged = get_args(Logging)
    yield "logging", f"one of {', '.join(logged)}", d.logging in logged, d.logging
    for name in ("examination", "eps_plus", "eps_minus"):
        values = list(getattr(d, name))
        possible = len(values) == d.k and all(0 <= value <= 1 for value in values)
        yield name, f"k = {d.k} probabilities", possible, values
    yield "temperature", "above 0", d.temperature > 0, d.temperature
    yield "user_sd", "at least 0", d.user_sd >= 0, d.user_sd


def _refuse(name: str, rule: str, value: object) -> None:
    msg = f"{name} must be {rule}, not {value!r}"
    raise ValueError(msg)
