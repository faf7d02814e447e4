"""Kept sums are added by the version of a measure: a value changes with it only."""

from __future__ import annotations

import json

import pytest
from versions import RECORD, found

from polars_rank.clicks.behavior.measures import BEHAVIOR
from polars_rank.core.metric.registry import METRICS

KNOWN = json.loads(RECORD.read_text())


@pytest.mark.parametrize("kind", KNOWN)
def test_a_value_changes_with_its_version_only(kind):
    own = found()[kind]
    assert {*own} == {*KNOWN[kind]}, "python tests/versions.py records a new measure"
    for name, one in own.items():
        known = KNOWN[kind][name]
        told = f"{name} has other values than before: raise its version, then run "
        told += "python tests/versions.py"
        near = {n: pytest.approx(v, rel=1e-9) for n, v in known["values"].items()}
        assert one == {"version": known["version"], "values": near}, told


def test_every_measure_has_its_value():
    """Measures of sessions, too, which states keep as well."""
    told = "python tests/versions.py records a measure that its lists try"
    for kind, measures in (("metrics", METRICS), ("behavior", BEHAVIOR)):
        apart = KNOWN[kind].keys() ^ measures.keys()
        assert not apart, told
