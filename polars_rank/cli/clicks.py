"""The commands ``clicks ...``: what click logs say."""

from polars_rank.cli import (  # each adds its commands
    clicks_behavior,
    clicks_bias,
    clicks_experiments,
    clicks_simulate,
)
from polars_rank.cli.clicks_log import app

__all__ = [
    "app",
    "clicks_behavior",
    "clicks_bias",
    "clicks_experiments",
    "clicks_simulate",
]
