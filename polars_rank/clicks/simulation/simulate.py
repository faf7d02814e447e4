"""Simulate a click log: check which parameters are possible, and complete them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from polars_rank.clicks.simulation.design import Logging, UserModel
from polars_rank.clicks.simulation.draw import Simulation
from polars_rank.core.parameters import is_number, refuse


def simulate(
    n_impressions: int,
    *,
    n_queries: int = 2000,
    n_docs: int = 15,
    k: int = 10,
    user_model: UserModel | Mapping[UserModel, float] = "pbm",
    examination: Sequence[float] | None = None,
    eta: float = 1.0,
    eps_plus: Sequence[float] | None = None,
    eps_minus: Sequence[float] | None = None,
    continuation: float = 0.7,
    gamma: float = 0.9,
    logging: Logging = "rankers",
    n_rankers: int = 3,
    temperature: float = 1.0,
    randomized_share: float = 0.0,
    swap_share: float = 0.0,
    interleaved_share: float = 0.0,
    n_users: int | None = None,
    user_sd: float = 0.0,
    n_arms: int = 1,
    lift: float = 0.0,
    zipf: float = 1.1,
    seed: int = 0,
) -> Simulation:
    """Simulate a click log whose truth is known.

    Each query has its documents, with a relevance (the probability that a user who
    examines the document clicks it) from Beta(0.6, 2). The production ranker's
    score is its logit plus noise: a good ranker, not a perfect one. The log is drawn by
    ``draw()``; the same arguments give the same log.

    Parameters
    ----------
    n_impressions
        Number of impressions; each shows ``k`` documents.
    n_queries, n_docs
        Number of queries, and of documents that each of them can show.
    k
        Length of the list.
    user_model
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
        ``"rankers"``: each impression is served by one of ``n_rankers`` fixed orders,
        by score plus noise of standard deviation ``temperature``; ``"plackett_luce"``:
        an order of its own, by score divided by ``temperature`` plus Gumbel noise.
    n_rankers, temperature
        Number of rankers and noise of their orders; see ``logging``.
    randomized_share
        Share of the impressions whose list is shuffled.
    swap_share
        Share of the impressions that take part in a swap: a fair coin decides whether
        the first document and that at a random other position change places.
    interleaved_share
        Share of the impressions that show a team draft of the rankings by ``score``
        (team A) and ``new_score`` (team B).
    n_users
        Number of users, a tenth of the impressions unless given.
    user_sd
        Standard deviation of the user's effect on the logit of a click.
    n_arms
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
    A :class:`Simulation`: ``draw()``, ``truth``, ``propensities`` and ``value()``.

    Raises
    ------
    ValueError
        For impossible designs.

    Examples
    --------
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(1000, seed=1)
    >>> simulation.draw().height
    10000
    >>> simulation.propensities["propensity"].head(3).to_list()
    [1.0, 0.5, 0.3333333333333333]
    """
    for name, value in (("n_impressions", n_impressions), ("k", k)):
        if type(value) is not int or value < 1:
            refuse(name, "a whole number of at least 1", value)
    places = range(k)
    shares = {user_model: 1.0} if isinstance(user_model, str) else dict(user_model)
    design = Simulation(
        n_impressions=n_impressions,
        n_queries=n_queries,
        n_docs=n_docs,
        k=k,
        user_model=shares,
        examination=examination or [(i + 1) ** -eta for i in places],
        eps_plus=_trust(shares, eps_plus, [1 / (1 + 0.005 * i) for i in places], 1.0),
        eps_minus=_trust(shares, eps_minus, [0.65 / (i + 1) for i in places], 0.0),
        continuation=continuation,
        gamma=gamma,
        logging=logging,
        n_rankers=n_rankers,
        temperature=temperature,
        randomized_share=randomized_share,
        swap_share=swap_share,
        interleaved_share=interleaved_share,
        n_users=max(n_impressions // 10, 1) if n_users is None else n_users,
        user_sd=user_sd,
        n_arms=n_arms,
        lift=lift,
        zipf=zipf,
        seed=seed,
    )
    _require_possible(design)
    return design


def _trust(
    models: Mapping[UserModel, float],
    given: Sequence[float] | None,
    default: list[float],
    without: float,
) -> Sequence[float]:
    if "trust" not in models:
        return [without] * len(default)
    return default if given is None else given


COUNTS = (
    *("n_impressions", "n_queries", "n_docs", "k"),
    *("n_rankers", "n_users", "n_arms"),
)
SHARED = ("randomized_share", "swap_share", "interleaved_share")
SHARES = (*SHARED, "continuation", "gamma")


def _require_possible(design: Simulation) -> None:
    """Raise ``ValueError`` that names the first impossible argument."""
    for name, rule, possible, value in _rules(design):
        if not possible:
            refuse(name, rule, value)


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
    yield "k", f"at most n_docs ({d.n_docs})", d.k <= d.n_docs, d.k
    yield "k", "at most 255", d.k <= 255, d.k
    yield "n_arms", "at most 26", d.n_arms <= 26, d.n_arms
    pairs = d.n_queries * d.n_docs
    yield "n_queries * n_docs", "below 2^32", pairs < 2**32, pairs
    total = d.swap_end + d.interleaved_share
    yield " + ".join(SHARED), "at most 1", total <= 1, total
    yield "k", "at least 2 with swap_share", not d.swap_share or d.k >= 2, d.k
    known, models = get_args(UserModel), [*d.user_model]
    possible = bool(models) and {*models} <= {*known}
    yield "user_model", f"one or more of {', '.join(known)}", possible, models
    possible = all(is_number(s) and s > 0 for s in d.user_model.values())
    yield "user_model", "of positive shares, all finite", possible, dict(d.user_model)
    logged = get_args(Logging)
    yield "logging", f"one of {', '.join(logged)}", d.logging in logged, d.logging
    for name in ("examination", "eps_plus", "eps_minus"):
        values = list(getattr(d, name))
        possible = len(values) == d.k and all(0 <= value <= 1 for value in values)
        yield name, f"k = {d.k} probabilities", possible, values
    for name, rule, possible in (
        ("temperature", "above 0 and finite", d.temperature > 0),
        ("user_sd", "at least 0 and finite", d.user_sd >= 0),
        ("lift", "a finite number", True),
        ("zipf", "a finite number", True),
    ):
        value = getattr(d, name)
        yield name, rule, possible and is_number(value), value
