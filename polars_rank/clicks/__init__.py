"""Click logs: checks, behavior, position bias and experiments from raw impressions.

A log has one row per document that an impression showed. ``report`` says what is in a
log and what can be estimated from it; ``dedupe`` merges repeated searches; ``simulate``
makes logs whose truth is known.
"""

from __future__ import annotations

from polars_rank.clicks.behavior.behavior import (
    behavior,
    behavior_state,
    merge_behavior,
    per_impression,
)
from polars_rank.clicks.behavior.entropy import click_entropy
from polars_rank.clicks.behavior.impression import Impression
from polars_rank.clicks.behavior.measures import BEHAVIOR
from polars_rank.clicks.bias.position_rows import PropensityMethod
from polars_rank.clicks.bias.propensities import propensities
from polars_rank.clicks.experiments.arms import compare_arms
from polars_rank.clicks.experiments.interleaving import interleaving
from polars_rank.clicks.experiments.merged_arms import merge_arms
from polars_rank.clicks.experiments.team_shares import team_shares
from polars_rank.clicks.judgments.agreement import agreement, confusion
from polars_rank.clicks.judgments.judgments import JudgmentMethod, judgments
from polars_rank.clicks.log.dedupe import dedupe
from polars_rank.clicks.log.log_columns import UBI, LogColumns, LogOptions
from polars_rank.clicks.log.report import LogReport, report
from polars_rank.clicks.off_policy.additive import ADDITIVE
from polars_rank.clicks.off_policy.counterfactual import counterfactual
from polars_rank.clicks.off_policy.sensitivity import sensitivity
from polars_rank.clicks.off_policy.weighing import CounterfactualMethod
from polars_rank.clicks.simulation.design import UserModel
from polars_rank.clicks.simulation.draw import Simulation
from polars_rank.clicks.simulation.simulate import simulate

__all__ = [
    "ADDITIVE",
    "BEHAVIOR",
    "UBI",
    "CounterfactualMethod",
    "Impression",
    "JudgmentMethod",
    "LogColumns",
    "LogOptions",
    "LogReport",
    "PropensityMethod",
    "Simulation",
    "UserModel",
    "agreement",
    "behavior",
    "behavior_state",
    "click_entropy",
    "compare_arms",
    "confusion",
    "counterfactual",
    "dedupe",
    "interleaving",
    "judgments",
    "merge_arms",
    "merge_behavior",
    "per_impression",
    "propensities",
    "report",
    "sensitivity",
    "simulate",
    "team_shares",
]
