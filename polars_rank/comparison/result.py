"""The result of ``compare``: frames, and ways to show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank.comparison.input.values import Values, lower_is_better
from polars_rank.comparison.tests.friedman import friedman
from polars_rank.report.comparison import (
    in_order,
    letters,
    means_table,
    pairs_table,
    parts_tables,
    pyterrier_table,
)
from polars_rank.report.latex import Layout, paper_table
from polars_rank.report.plots import Plots
from polars_rank.report.table import Shown, Table, as_html, as_latex, as_markdown, plain


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Systems compared: two frames, and ways to show them.

    Attributes
    ----------
    means
        Per segment, measure and system: ``queries``, ``mean`` with its standard error
        ``se``, and ``lower`` and ``upper`` of its interval.
    pairs
        Per segment, measure and pair: ``queries``; ``baseline_mean``, ``mean`` (of the
        system), their ``difference`` (system - baseline), ``relative`` to the
        baseline's mean, with standard error ``se`` (pooled with tests ``"tukey"`` and
        ``"lsd"``), ``lower`` and ``upper``; ``statistic``, ``df``, ``p_value``,
        ``p_adjusted`` and ``significant`` (of the adjusted p-value); which of both is
        ``better`` if it is: by the means, of ``"sign"`` by the queries won, of
        ``"wilcoxon"`` by the sums of ranks; the ``effect`` size, with the interval
        ``effect_lower``, ``effect_upper`` for d_z and Hedges' g; ``wins``, ``ties`` and
        ``losses``, the queries that the system wins, ties and loses; the
        ``detectable`` difference, which the test finds with a power of 80 %, at the
        level of its correction (of those in steps, such as Holm's, at Bonferroni's), if
        differences are normal; a ``note`` where an assumption fails.
    settings
        The arguments of the comparison.
    anova
        Two-way analysis of variance of systems and queries, where all pairs are known,
        of the same queries.
    between_segments
        With ``by``: whether the difference of a pair differs between segments, by
        Welch's F test. Columns ``measure``, ``baseline``, ``system``, ``segments`` (the
        number that have enough queries, and differences that vary), ``statistic`` with
        ``df`` and ``df_error``, and ``p_value``, which is not adjusted; null for fewer
        than two segments. A cluster in several segments counts as one in each.
    largest_parts
        With ``largest_parts=True``: the largest parts of each difference from a
        baseline. Columns ``measure``, ``baseline``, ``system``, ``item`` in words, the
        number of ``queries`` that have it, the ``difference`` that it adds and its
        ``share`` in the whole.

    Source: Welch, Biometrika 1951 (differences between segments); equal to
    ``statsmodels.stats.oneway.anova_oneway``.
    """

    means: pl.DataFrame
    pairs: pl.DataFrame
    settings: dict[str, Any]
    anova: pl.DataFrame | None = None
    values: Values | None = None
    between_segments: pl.DataFrame | None = None
    largest_parts: pl.DataFrame | None = None

    @property
    def _lower(self) -> list[str]:
        names = self.means["measure"].unique(maintain_order=True)
        return [name for name in names if lower_is_better(name)]

    def tables(self, *, percent: bool = False) -> list[Table]:
        """Return two tables, and those of ``largest_parts``.

        ``percent``: means and differences times 100; effect sizes and p-values remain
        as they are.
        """
        means, pairs = self.in_order()
        return [
            means_table(means, pairs, self.settings, self._lower, in_percent=percent),
            pairs_table(pairs, self.settings, in_percent=percent),
            *parts_tables(self.largest_parts, in_percent=percent),
        ]

    def in_order(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return ``means`` and ``pairs`` in the order of systems that ``order=`` chose.

        It is that of tables and pictures.
        """
        return in_order(self.means, self.pairs, self.settings, self._lower)

    def to_html(self, path: str | Path | None = None, *, percent: bool = False) -> str:
        """Return all tables as HTML (extra ``report``), and write them to a path."""
        text = "\n".join(map(as_html, self.tables(percent=percent)))
        if path is not None:
            head = '<!doctype html>\n<meta charset="utf-8">\n<title>Comparison</title>'
            page = f"{head}\n{text}\n"
            Path(path).write_text(page, encoding="utf-8")
        return text

    def to_latex(
        self,
        *,
        caption: str | None = None,
        label: str | None = None,
        order: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        digits: int | None = None,
        intervals: bool = False,
        pairs: bool = False,
        percent: bool = False,
    ) -> str:
        r"""Return the table of a paper: a row for each system, a column per measure.

        The best mean is bold; superscripts name the systems that are significantly
        worse, by ``better`` of the pairs. A table that is wider than a column is a
        ``table*``. Needs ``\usepackage{booktabs}``.

        Parameters
        ----------
        caption, label
            LaTeX, as you write it; by default, the caption says what the table shows.
        order
            Systems in the order of the rows; others are left out.
        names
            LaTeX for systems, measures, segments and headings, by what they are called
            here: ``{"ndcg@10": r"nDCG\,@\,10"}``. Other names are escaped.
        digits
            Decimals of means: 3, and 1 in percent.
        intervals
            Whether means have their intervals.
        pairs
            Whether a second table lists all pairs, with tests and effects.
        percent
            Whether means and differences are multiplied by 100.

        Raises
        ------
        ValueError
            For names of systems and measures that are not there.
        """
        layout = Layout(caption, label, order, names, digits, intervals, percent)
        means, tested = self.in_order()
        text = paper_table(means, tested, self.settings, self._lower, layout)
        if not pairs:
            return text
        if order is not None:
            shown = pl.col("baseline", "system").is_in([*order])
            tested = tested.filter(pl.all_horizontal(shown))
        listed = pairs_table(tested, self.settings, in_percent=percent)
        return f"{text}\n\n{as_latex(listed)}"

    def to_markdown(self, *, percent: bool = False) -> str:
        """Return all tables for a pull request or a page."""
        return "\n\n".join(map(as_markdown, self.tables(percent=percent)))

    def to_pyterrier(self) -> pl.DataFrame:
        """Return the table of ``pyterrier.Experiment``: a row for each system.

        Columns ``name``, a mean per measure, and for each measure the queries that are
        better (``"ap +"``) and worse (``"ap -"``) than the baseline's, ``"ap p-value"``
        and, with a correction, ``"ap reject"`` and ``"ap p-value corrected"``.

        Raises
        ------
        ValueError
            Unless one baseline was compared, without segments.
        """
        return pyterrier_table(self.means, self.pairs, self.settings["correction"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers; ``json.dumps`` takes it."""
        told = {
            "settings": self.settings,
            "means": self.means,
            "pairs": self.pairs,
            "anova": self.anova,
            "between_segments": self.between_segments,
        }
        if self.largest_parts is not None:
            told["largest_parts"] = self.largest_parts
        # Infinite statistics become text, NaN becomes null.
        return plain(told, lambda name: None if name == "NaN" else name)

    def friedman(self) -> pl.DataFrame:
        """Test whether the ranks of systems differ, by segment and measure (Friedman).

        Columns ``queries``, ``statistic`` (chi-square with ``df``), ``p_value``, and
        ``w``, Kendall's coefficient of concordance. Needs three systems or more and the
        values of the queries; null for fewer than two queries.

        Source: Friedman, 1937. Equal to ``scipy.stats.friedmanchisquare`` (extra
        ``stats``).
        """
        if self.values is None:
            msg = (
                "Friedman's test needs the values of the queries; these are moments, "
                "or lazy rows that were too many: compare a DataFrame"
            )
            raise ValueError(msg)
        return friedman(self.values)

    def letters(self) -> pl.DataFrame:
        """Give systems letters: those that share one do not differ significantly.

        They are meant for comparisons of all pairs; an untested pair counts as equal.

        Raises
        ------
        ValueError
            For ``test="tost"``, of which significant pairs are the same.
        """
        if self.settings["test"] == "tost":
            msg = (
                "letters tell what differs, test='tost' what is equivalent: choose "
                "another test, such as test='t'"
            )
            raise ValueError(msg)
        return letters(self.means, self.pairs, self._lower)

    @property
    def plot(self) -> Plots:
        """Pictures, by altair (extra ``plot``).

        ``forest``, ``segments``, ``deltas``, ``scatter``, ``depth``,
        ``precision_recall`` and ``significance``.
        """
        level, margin = (self.settings[name] for name in ("level", "margin"))
        return Plots(*self.in_order(), self._lower, self._deltas, level, margin)

    def _deltas(self, measure: str | None) -> pl.DataFrame:
        """Return the difference of every query, for each pair."""
        if self.values is None:
            msg = (
                "no values of single queries are held, but moments, or lazy rows that "
                "were too many: compare a DataFrame"
            )
            raise ValueError(msg)
        _, pairs = self.in_order()
        chosen = pairs.select("baseline", "system").unique(maintain_order=True)
        return self.values.differences(chosen.rows(), measure)
