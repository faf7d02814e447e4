"""Every disputed choice, by name.

A convention completes the parameters of measures; it imports these, and no frame is
evaluated here.
"""

from __future__ import annotations

import polars_rank.metrics  # noqa: F401  # registers them
