"""``python -m polars_rank`` is ``polars-rank``."""

from __future__ import annotations

import sys

from polars_rank.cli import main

if __name__ == "__main__":
    sys.exit(main())
