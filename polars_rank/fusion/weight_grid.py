"""The grid of weights that ``tune`` tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polars_rank.core.parameters import is_whole, refuse


def weight_grid(names: Sequence[str], *, steps: int = 10) -> list[dict[str, float]]:
    """List all weights of runs that are multiples of ``1 / steps`` and add up to 1.

    The multiples are counted as integers: with sums of floats, some would not be 1, and
    would be lost.

    Parameters
    ----------
    names
        Names of the runs.
    steps
        Number of steps from 0 to 1.

    Returns
    -------
    ``(steps + n - 1)! / (steps! (n - 1)!)`` mappings for n runs: 11 for two runs and
    ten steps, 66 for three, 286 for four.

    Examples
    --------
    >>> from polars_rank import fusion
    >>> fusion.weight_grid(["bm25", "dense"], steps=2)
    [{'bm25': 0.0, 'dense': 1.0}, {'bm25': 0.5, 'dense': 0.5}, {'bm25': 1.0, 'dense': 0.0}]
    """  # noqa: E501
    if not (is_whole(steps) and steps > 0):
        refuse("steps", "a whole number of at least 1", steps)
    return [
        dict(zip(names, (part / steps for part in parts), strict=True))
        for parts in _parts(steps, len(names))
    ]


def _parts(total: int, places: int) -> Iterator[tuple[int, ...]]:
    """All ways to split a whole number into that many whole numbers, in order."""
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for others in _parts(total - first, places - 1):
            yield (first, *others)
