"""Model users: who examines which document, and clicks it.

Draws are vectorized over impressions; where a user's next step depends on the last one,
a loop goes over the places of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_rank.clicks.simulation.design import Design, UserModel

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _independent(
    design: Design, rng: np.random.Generator, chance: Array, _: Array
) -> Array:
    import numpy as np

    theta = np.array(design.examination, dtype=np.float32)
    return rng.random(chance.shape, dtype=np.float32) < theta * chance


def _trusting(
    design: Design, rng: np.random.Generator, chance: Array, _: Array
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
    """Go down the list until the user stops: after a click or a skip."""
    import numpy as np

    n, k = chance.shape
    here, clicked = np.ones(n, bool), np.zeros((n, k), bool)
    for place in range(k):
        clicked[:, place] = here & (rng.random(n) < chance[:, place])
        on = np.where(clicked[:, place], after_click(place), after_skip)
        here &= rng.random(n) < on
    return clicked


def _dbn(
    design: Design, rng: np.random.Generator, chance: Array, satisfied: Array
) -> Array:
    import numpy as np

    def after(place: int) -> Array:
        stays: Array = np.where(satisfied[:, place], 0.0, design.gamma)
        return stays

    return _browsing(rng, chance, after, design.gamma)


def _ubm(design: Design, rng: np.random.Generator, chance: Array, _: Array) -> Array:
    """Examine by the distance to the click above."""
    import numpy as np

    n, k = chance.shape
    theta = np.array(design.examination)
    distance, clicked = np.zeros(n, int), np.zeros((n, k), bool)
    for place in range(k):
        clicked[:, place] = rng.random(n) < theta[distance] * chance[:, place]
        distance = np.where(clicked[:, place], 0, distance + 1)
    return clicked


USER_MODELS: Mapping[UserModel, Callable[..., Array]] = {
    "pbm": _independent,
    "trust": _trusting,
    "cascade": lambda _, rng, chance, __: _browsing(rng, chance, lambda _: 0.0, 1.0),
    "dcm": lambda design, rng, chance, _: _browsing(
        rng, chance, lambda _: design.continuation, 1.0
    ),
    "dbn": _dbn,
    "ubm": _ubm,
}
"""Of each model, the function that draws clicks.

It takes the design, the generator, the chance that each examined document is clicked,
and whether a click on it would satisfy.
"""
