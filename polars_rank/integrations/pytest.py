"""pytest: the fixture ``ranking_gate``, a test that fails if a ranking got worse.

``pytest_plugins = ["polars_rank.integrations.pytest"]`` in ``conftest.py`` switches it
on. There is no entry point: that would load Polars in every run of pytest.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polars_rank.comparison.gate.gate_result import Gate

__all__ = ["pytest_addoption", "ranking_gate"]

UPDATE = "--update-ranking-baseline"
SUMMARY = "GITHUB_STEP_SUMMARY"  # a file whose Markdown GitHub shows with the job


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    parser.getgroup("polars_rank").addoption(
        UPDATE,
        action="store_true",
        help="write the baselines of ranking_gate instead of comparing with them",
    )


@pytest.fixture
def ranking_gate(request: pytest.FixtureRequest) -> Callable[..., Gate | None]:
    """Compare values per query with a baseline: a function, as :func:`gate`.

    ``ranking_gate(values, "ndcg@10", baseline="tests/baseline.parquet", margin=0.01)``
    fails the test if the verdict is ``"fail"`` or ``"invalid"``, and warns if it is
    ``"warn"``. With ``--update-ranking-baseline`` it writes ``values`` to the file of
    the baseline instead, and returns None. In a job of GitHub, the report is added to
    the summary.
    """

    def check(
        values: Any, measures: Any = None, *, baseline: Any, **options: Any
    ) -> Gate | None:
        import polars_rank as pr

        named = isinstance(baseline, str | Path)
        if named and request.config.getoption(UPDATE):
            Path(baseline).parent.mkdir(parents=True, exist_ok=True)
            values.lazy().collect().write_parquet(baseline)
            return None
        if named and not Path(baseline).exists():
            pytest.fail(
                f"there is no baseline {os.fspath(baseline)}: write it by pytest "
                f"{UPDATE}, and commit it",
                pytrace=False,
            )
        found = pr.gate(values, measures, baseline=baseline, **options)
        if summary := os.environ.get(SUMMARY):
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(f"{found.to_markdown()}\n\n")
        if found.verdict == "warn":
            warnings.warn(str(found), pr.DataWarning, stacklevel=2)
        if found.exit_code():
            pytest.fail(str(found), pytrace=False)
        return found

    return check
