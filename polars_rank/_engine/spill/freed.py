"""Wait for freed memory to go back to the system, while memory is bounded.

Polars' allocator, jemalloc, returns freed pages about half a second later, and keeps
them apart in four arenas per core. A bucket that the next thread evaluates in another
arena takes new pages, so a fast machine exceeds its limit by pages that nobody uses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from polars_rank._engine.spill.budget import LEAST, MB, Budget, overhead

STATM = Path("/proc/self/statm")  # on Linux only; elsewhere nothing waits
PAUSE, PATIENCE = 0.02, 0.2  # seconds between two looks, and without any progress
LITTLE = 4 * MB
MORSEL = 60 * MB  # what reading takes before anyone can wait again


def resident() -> int:
    """Bytes of this process in memory; 0 if the system does not tell."""
    try:
        pages = int(STATM.read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class Freed:
    """Waits until a step fits beside what the process holds.

    What does not go back is held by others: nobody waits for it a second time.
    """

    def __init__(self, budget: Budget, look: Callable[[], int] = resident) -> None:
        self.budget, self.look = budget, look
        self.held = overhead()

    def wait_for(self, need: int) -> None:
        """Wait while ``need`` more bytes exceed the limit and memory goes back."""
        if self.budget.limit < LEAST:
            return
        now, patience = self.look(), PATIENCE
        enough = max(self.budget.limit - need, self.held + LITTLE)
        while now > enough and patience > 0:
            time.sleep(PAUSE)
            before, now = now, self.look()
            patience = PATIENCE if before - now >= LITTLE else patience - PAUSE
        if now > enough:
            self.held = now
