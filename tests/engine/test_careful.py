"""Steps within a memory limit wait for memory that is free but not returned yet."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polars_rank._engine.spill import careful
from polars_rank._engine.spill.budget import MB, Budget, overhead
from polars_rank._engine.spill.careful import Freed

LIMIT = overhead() + 400 * MB


class Process:
    """Holds memory that goes back to the system step by step, as time passes."""

    def __init__(self, monkeypatch, *, held: int, freed: int, step: int) -> None:
        self.held, self.freed, self.step, self.waited = held, freed, step, 0
        monkeypatch.setattr(careful.time, "sleep", self.sleep)
        self.waits = Freed(Budget.of(LIMIT, 4), self.resident)

    def sleep(self, seconds: float) -> None:
        self.waited += 1
        self.freed = max(self.freed - self.step, 0)

    def resident(self) -> int:
        return self.held + self.freed


def test_a_step_waits_until_it_fits_and_no_longer(monkeypatch):
    process = Process(monkeypatch, held=200 * MB, freed=300 * MB, step=10 * MB)
    process.waits.wait_for(100 * MB)
    assert process.resident() <= LIMIT - 100 * MB < process.resident() + 10 * MB
    before = process.waited
    process.waits.wait_for(100 * MB)
    assert process.waited == before


def test_what_others_hold_is_waited_for_once(monkeypatch):
    process = Process(monkeypatch, held=5000 * MB, freed=100 * MB, step=50 * MB)
    process.waits.wait_for(100 * MB)
    first = process.waited
    assert 0 < first <= 15
    process.waits.wait_for(300 * MB)
    assert process.waited == first
    process.freed = 90 * MB
    process.waits.wait_for(100 * MB)
    assert process.waited > first
    assert process.resident() == 5000 * MB


def test_limits_below_the_least_are_those_of_tests(monkeypatch):
    process = Process(monkeypatch, held=5000 * MB, freed=0, step=1)
    process.waits.budget = Budget.of(100 * MB, 4)
    process.waits.wait_for(100 * MB)
    assert process.waited == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
def test_the_memory_of_the_process_is_that_of_the_system():
    """In a process of its own, where nothing else is freed at the same time."""
    code = """
from polars_rank._engine.spill.careful import resident
before = resident()
held = b"1" * 200_000_000
print(resident() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert 190e6 < int(done.stdout) < 210e6
