"""Read runs and judgments lazily from any common format; write results safely.

It imports ``core`` and ``_files``; nothing is evaluated here.
"""

from __future__ import annotations

from polars_rank._files.signals import clean_on_signals
from polars_rank.io.beir import BeirFolder, scan_beir
from polars_rank.io.formats import FORMATS, Format
from polars_rank.io.lines.trec import scan_trec_qrels, scan_trec_run
from polars_rank.io.scan import scan
from polars_rank.io.shapes.group_sizes import from_groups
from polars_rank.io.shapes.lists import from_lists
from polars_rank.io.shapes.wide import from_wide
from polars_rank.io.write import write

__all__ = [
    "FORMATS",
    "BeirFolder",
    "Format",
    "clean_on_signals",
    "from_groups",
    "from_lists",
    "from_wide",
    "scan",
    "scan_beir",
    "scan_trec_qrels",
    "scan_trec_run",
    "write",
]
