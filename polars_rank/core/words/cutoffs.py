"""Cutoffs: how many of the first documents the sums of a formula need."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from polars_rank.core.expr import operands


@dataclass
class Cutoffs:
    """Words that are 0 below a rank, and how deep the sums of a formula look.

    Attributes
    ----------
    words
        Words that are 0, or false, for all documents below a rank, each with the rank.
    depths
        How many of the first documents can change each sum; None: all.
    """

    words: list[tuple[pl.Expr, int]] = field(default_factory=list)
    depths: set[int | None] = field(default_factory=set)

    def note(self, word: pl.Expr, k: int | pl.Expr | None) -> pl.Expr:
        """Return a word that is 0 below rank ``k``, which counts where it is known."""
        if isinstance(k, int):
            self.words.append((word, k))
        return word

    def add(self, term: pl.Expr) -> None:
        """Note how many of the first documents the sum of the term needs."""
        self.depths.add(self.of(term))

    def of(self, term: pl.Expr) -> int | None:
        """Return the rank below which the term is 0: it has such a word as factor."""
        for word, k in self.words:
            if word.meta.eq(term):
                return k
        known = map(self.of, operands(term, "*", "&"))
        return next((k for k in known if k is not None), None)

    @property
    def depth(self) -> int | None:
        """How many of the first documents can change the sums; None: all."""
        known = [depth for depth in self.depths if depth is not None]
        return None if None in self.depths else max(known, default=None)
