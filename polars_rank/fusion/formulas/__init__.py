"""Formulas of fusion: words, norms and methods, as expressions without a frame.

It imports no other room of ``fusion``.
"""

from polars_rank.fusion.formulas import trained as _trained  # noqa: F401  # registers
