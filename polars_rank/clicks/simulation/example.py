"""Write the example: ``python -m polars_rank.clicks.simulation.example``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import polars as pl

from polars_rank.clicks.simulation.draw import Simulation
from polars_rank.clicks.simulation.simulate import simulate

PATH = Path(str(files("polars_rank") / "example" / "clicks.parquet"))
DEVICES = pl.Enum(["desktop", "phone"])


def simulation() -> Simulation:
    """Design the example, with its truth."""
    return simulate(
        10_000,
        n_queries=200,
        n_docs=12,
        randomized_share=0.1,
        interleaved_share=0.2,
        n_users=1500,
        user_sd=0.7,
        n_arms=2,
        lift=0.1,
        zipf=0.8,
        seed=7,
    )


def log() -> pl.DataFrame:
    """Draw the log; users have a device, which changes nothing."""
    phone = (pl.col("user_id") % 5 < 3).cast(pl.UInt8)
    device = pl.lit(pl.Series(["desktop", "phone"], dtype=DEVICES)).gather(phone)
    return (
        simulation()
        .draw()
        .with_columns(
            device=device,
            dwell=pl.col("dwell").round(1),
            score=pl.col("score").round(2),
            new_score=pl.col("new_score").round(2),
            time=pl.col("time").dt.round("1s"),
        )
    )


if __name__ == "__main__":
    log().write_parquet(PATH, compression_level=20)
