"""Formulas of fusion: words, norms and methods, as expressions without a frame.

It imports no other room of ``fusion``.
"""
