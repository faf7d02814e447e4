"""The table of a paper: a row for each system, a column for each measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from polars_rank.core.parameters import is_whole
from polars_rank.exceptions import counted
from polars_rank.report.comparison import (
    CORRECTIONS,
    MEANS,
    TESTS,
    UNKNOWN,
    letters_of,
    percent,
    significantly_worse,
)
from polars_rank.report.table import latex_float, latex_text, number

RUN = 3  # neighboring letters that are written as a range


@dataclass(frozen=True)
class Layout:
    """What the author decides about a table; ``caption`` and ``names`` are LaTeX."""

    caption: str | None = None
    label: str | None = None
    order: Sequence[str] | None = None
    names: Mapping[str, str] | None = None
    digits: int | None = None
    intervals: bool = False
    in_percent: bool = False

    def __post_init__(self) -> None:
        """Check the number of digits."""
        if self.digits is not None and not (is_whole(self.digits) and self.digits >= 0):
            msg = f"digits must be a whole number of at least 0, not {self.digits!r}"
            raise ValueError(msg)

    def name(self, text: object) -> str:
        """Return the author's name of a system, a measure or a column, or its own."""
        own = "-" if text is None else str(text)
        given = (self.names or {}).get(own)
        return latex_text(own) if given is None else given

    def number(self, value: float | None) -> str:
        """Write a value; a dash for none."""
        digits = (1 if self.in_percent else 3) if self.digits is None else self.digits
        if value is None:
            return "--"
        return number(100 * value if self.in_percent else value, digits)


class Entry(NamedTuple):
    """A mean, the systems that it beats, and its interval."""

    text: str
    best: bool
    beaten: str
    interval: str

    @property
    def width(self) -> int:
        """Characters; superscripts are small."""
        beaten = (2 * len(self.beaten.replace("--", "-")) + 2) // 3
        return len(self.text) + beaten + len(self.interval)

    def shown(self, whole: int, beaten: str) -> str:
        """Write it, with ``whole`` digits before the point, and room for ``beaten``."""
        pad = whole - len(self.text.partition(".")[0])
        text = (rf"\phantom{{{'0' * pad}}}" if pad > 0 else "") + (
            rf"\textbf{{{self.text}}}" if self.best else self.text
        )
        mark = rf"\textsuperscript{{{self.beaten}}}" if self.beaten else ""
        if not self.interval:
            return text + mark
        if beaten and not self.beaten:  # intervals begin at one place
            mark = rf"\hphantom{{\textsuperscript{{{beaten}}}}}"
        return rf"{text}{mark} {{\scriptsize {self.interval}}}"


class Row(NamedTuple):
    """A row of the table: a system in a segment."""

    at: tuple[Any, ...]
    labels: list[str]
    entries: list[Entry]


def paper_table(
    means: pl.DataFrame,
    pairs: pl.DataFrame,
    settings: Mapping[str, Any],
    lower: Sequence[str],
    layout: Layout,
) -> str:
    """Write one table; the best mean is bold, superscripts name what is worse."""
    segments = [c for c in means.columns if c not in MEANS]
    measures = means["measure"].unique(maintain_order=True).to_list()
    systems = _chosen(means["system"].unique(maintain_order=True).to_list(), layout)
    _require_known(means, layout, segments)
    means = means.filter(pl.col("system").is_in(systems))
    worse = significantly_worse(pairs, segments)
    marked = any(set(found) & set(systems) for found in worse.values())
    varied = means["queries"].n_unique() > 1
    signs = letters_of(len(systems)) if marked else [""] * len(systems)
    rows: list[Row] = []
    for at, group in _by_segment(means, segments):
        best = _best(group, lower)
        known: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in group.iter_rows(named=True):
            known.setdefault(row["system"], {})[row["measure"]] = row
        for sign, system in zip(signs, systems, strict=True):
            if system not in known:
                continue
            own = known[system]
            labels = [*map(layout.name, at), *([sign] if marked else [])]
            labels.append(layout.name(system))
            labels += [str(next(iter(own.values()))["queries"])] if varied else []
            entries = []
            for measure in measures:
                beaten = worse.get((*at, measure, system), [])
                places = [i for i, other in enumerate(systems) if other in beaten]
                shown = own.get(measure, UNKNOWN)
                marks = _ranges(places, signs)
                entries.append(_entry(shown, best.get(measure), marks, layout))
            rows.append(Row(at, labels, entries))
    heads = [*map(layout.name, segments), *(["\\#"] if marked else [])]
    heads += [layout.name("system"), *([layout.name("queries")] if varied else [])]
    caption = layout.caption
    if caption is None:
        caption = _caption(means, settings, layout, marked=marked, varied=varied)
    align = "l" * (len(heads) - varied) + "r" * varied + "l" * len(measures)
    around = latex_float(_width(heads, measures, rows))
    return "\n".join(
        [
            rf"\begin{{{around}}}",
            r"\centering",
            rf"\caption{{{caption}}}",
            *([] if layout.label is None else [rf"\label{{{layout.label}}}"]),
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            _row([*heads, *map(layout.name, measures)]),
            r"\midrule",
            *_lines(rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\end{{{around}}}",
        ]
    )


def _entry(
    row: Mapping[str, Any], best: float | None, marks: str, layout: Layout
) -> Entry:
    mean, ends = row["mean"], (row["lower"], row["upper"])
    interval = ""
    if layout.intervals and None not in ends:
        interval = f"[{', '.join(map(layout.number, ends))}]"
    is_best = mean is not None and mean == best
    return Entry(layout.number(mean), is_best, marks, interval)


def _lines(rows: Sequence[Row]) -> list[str]:
    """Write the rows, decimal points below each other."""
    columns = list(zip(*(row.entries for row in rows), strict=True))
    wholes = [max(len(e.text.partition(".")[0]) for e in column) for column in columns]
    longest = [max((e.beaten for e in column), key=len) for column in columns]
    lines: list[str] = []
    for before, row in zip([rows[0], *rows], rows, strict=False):
        if before.at != row.at:
            lines.append(r"\midrule")
        parts = zip(row.entries, wholes, longest, strict=True)
        lines.append(_row([*row.labels, *(e.shown(n, mark) for e, n, mark in parts)]))
    return lines


def _width(heads: Sequence[str], measures: Sequence[str], rows: Sequence[Row]) -> int:
    """Count the characters of a line, with the room between columns."""
    widths = [[len(head) for head in [*heads, *measures]]]
    for row in rows:
        widths.append([*map(len, row.labels), *(entry.width for entry in row.entries)])
    return sum(max(column) + 2 for column in zip(*widths, strict=True))


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    first = f"{{}}{first}" if first.startswith("[") else first  # no option of \\
    return " & ".join([first, *others]) + r" \\"


def _chosen(systems: list[str], layout: Layout) -> list[str]:
    """Return the systems that the author wants, in that order."""
    if layout.order is None:
        return systems
    order = [layout.order] if isinstance(layout.order, str) else [*layout.order]
    unknown = [repr(s) for s in order if s not in systems]
    if unknown or len({*order}) < len(order) or not order:
        fault = f"no system is called {unknown[0]}" if unknown else "one system twice"
        fault = fault if order else "no system"
        msg = (
            f"order must list systems, each once, of {systems}; it has {fault}. "
            "Systems that it leaves out are left out of the table"
        )
        raise ValueError(msg)
    return order


def _require_known(
    means: pl.DataFrame, layout: Layout, segments: Sequence[str]
) -> None:
    texts = {"system", "queries", "-", *segments}
    for column in ("system", "measure", *segments):
        texts |= {str(v) for v in means[column].unique()}
    for name in layout.names or {}:
        if name not in texts:
            msg = (
                f"names has {name!r}, which is no system, measure, segment or heading "
                f"of this table; they are {', '.join(sorted(texts))}"
            )
            raise ValueError(msg)


def _by_segment(
    means: pl.DataFrame, segments: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    if not segments:
        yield (), means
        return
    ordered = means.sort(segments, maintain_order=True, nulls_last=False)
    for group in ordered.partition_by(segments, maintain_order=True):
        yield group.select(segments).row(0), group


def _best(group: pl.DataFrame, lower: Sequence[str]) -> dict[str, float | None]:
    mean = pl.col("mean")
    best = pl.when(pl.col("measure").first().is_in(list(lower)))
    ends = group.group_by("measure").agg(best.then(mean.min()).otherwise(mean.max()))
    return dict(ends.rows())


def _ranges(places: Sequence[int], signs: Sequence[str]) -> str:
    """Write letters, neighbors as a range.

    Examples
    --------
    >>> _ranges([0, 1, 3, 4, 5], "abcdef")
    'abd--f'
    """
    text = ""
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        own = [signs[place] for _, place in run]
        text += f"{own[0]}--{own[-1]}" if len(own) >= RUN else "".join(own)
    return text


def _caption(
    means: pl.DataFrame,
    settings: Mapping[str, Any],
    layout: Layout,
    *,
    marked: bool,
    varied: bool,
) -> str:
    """Say what the table shows, as far as the comparison knows."""
    caption = "Means in percent" if layout.in_percent else "Means"
    caption += "" if varied else f" over {counted(means['queries'][0], 'query')}"
    level = latex_text(percent(settings["level"])).replace(" ", "~")
    caption += f", with {level} intervals" if layout.intervals else ""
    caption += "; the best is bold."
    if not marked:
        return caption
    test = TESTS[settings["test"]]
    if settings["pairs"] == "independent":
        test = "Welch's t"
    correction = settings["correction"]
    adjusted = (
        ""
        if correction == "none"
        else f"{latex_text(CORRECTIONS[correction])}-adjusted "
    )
    alpha = f"{1 - settings['level']:.4g}"
    return (
        f"{caption} Superscripts: significantly better than these systems "
        f"({latex_text(test)}, {adjusted}$p < {alpha}$)."
    )
