"""The command ``clicks simulate``: a log whose truth is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank import clicks
from polars_rank.cli.clicks_log import Example, Out, app
from polars_rank.cli.derive import GROUPS
from polars_rank.clicks.simulation.users import UserModel
from polars_rank.example import clicks_path
from polars_rank.io import write

CHOICE = Parameter(group=GROUPS["choice"])


@app.command(usage="Usage: polars-rank clicks simulate --out FILE [OPTIONS]")
def simulate(
    *,
    out: Annotated[
        Path,
        Parameter(
            group=GROUPS["output"], metavar="FILE", validator=PathRule(ext=("parquet",))
        ),
    ],
    impressions: Annotated[float, CHOICE] = 10_000,
    queries: Annotated[int, CHOICE] = 2000,
    docs: Annotated[int, CHOICE] = 15,
    k: Annotated[int, CHOICE] = 10,
    user: Annotated[UserModel, CHOICE] = "pbm",
    eta: Annotated[float, CHOICE] = 1.0,
    rankers: Annotated[int, CHOICE] = 3,
    randomized: Annotated[float, CHOICE] = 0.0,
    swap: Annotated[float, CHOICE] = 0.0,
    interleaved: Annotated[float, CHOICE] = 0.0,
    users: Annotated[int | None, CHOICE] = None,
    user_sd: Annotated[float, CHOICE] = 0.0,
    arms: Annotated[int, CHOICE] = 1,
    lift: Annotated[float, CHOICE] = 0.0,
    zipf: Annotated[float, CHOICE] = 1.1,
    seed: Annotated[int, CHOICE] = 0,
    truth: Out = None,
    example: Example = False,
) -> None:
    """Write a click log whose truth is known.

    Parameters
    ----------
    out
        Parquet file for the log.
    impressions
        Number of impressions, such as 10000 or 1e6.
    queries
        Number of queries.
    docs
        Documents that each query can show.
    k
        Length of the list.
    user
        Click model of the users.
    eta
        How steeply examination falls with the position.
    rankers
        Number of rankers that served lists.
    randomized
        Share of lists that are shuffled.
    swap
        Share of lists that take part in a swap.
    interleaved
        Share of lists that are team drafts.
    users
        Number of users; a tenth of the impressions unless given.
    user_sd
        Standard deviation of the users' effects on the logit of a click.
    arms
        Number of arms.
    lift
        Relative change of relevance in all arms but the first.
    zipf
        Exponent of the Zipf distribution of traffic over queries.
    seed
        Seed of all random numbers.
    truth
        Also write the relevance of every document to this Parquet file.
    example
        Write the log that ships with the package; all other options are ignored.
    """
    if example:
        shutil.copyfile(clicks_path(), out)
        return
    if impressions != int(impressions):
        raise CycloptsError(msg="--impressions must be a whole number.")
    design = clicks.simulate(
        int(impressions),
        queries=queries,
        docs=docs,
        k=k,
        user=user,
        eta=eta,
        rankers=rankers,
        randomized=randomized,
        swap=swap,
        interleaved=interleaved,
        users=users,
        user_sd=user_sd,
        arms=arms,
        lift=lift,
        zipf=zipf,
        seed=seed,
    )
    write(design.scan(), out)
    if truth is not None:
        write(design.truth, truth)
