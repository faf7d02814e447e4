"""Tables of a comparison: means of the systems, differences of the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from string import ascii_lowercase
from typing import Any

import polars as pl

from polars_rank.report.table import Cell, Table, number

TESTS = {
    "t": "paired t",
    "randomization": "randomization test",
    "wilcoxon": "Wilcoxon signed rank",
    "sign": "sign test",
    "bootstrap": "bootstrap shift test",
    "tukey": "paired Tukey HSD",
    "randomized_tukey": "randomized Tukey HSD",
    "lsd": "Fisher's LSD",
    "tost": "equivalence (TOST)",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "sidak": "Šidák",
    "hochberg": "Hochberg",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}
# A difference that is found alone needs the smallest of a procedure's levels.
ALONE = ", as if Bonferroni corrected; {} finds no less"
POWER = {
    "bonferroni": ", corrected",
    "sidak": ", corrected",
    "by": ", even where nothing else differs",
    **{name: ALONE.format(CORRECTIONS[name]) for name in ("holm", "hochberg", "bh")},
}
EFFECTS = {
    "d_z": "d_z", "hedges": "g", "d_av": "d_av", "glass": "Glass", "sakai": "ES",
    "dominance": "dominance", "rank_biserial": "r", "cliff": "Cliff",
}  # fmt: skip
SMALLEST = 1e-4


def percent(level: float) -> str:
    """Write a level in words.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:.10g} %"


def _segment(row: Mapping[str, Any], segments: Sequence[str]) -> list[Cell]:
    return [Cell("-" if row[s] is None else str(row[s])) for s in segments]


def in_order(
    means: pl.DataFrame,
    pairs: pl.DataFrame,
    settings: Mapping[str, Any],
    lower: Sequence[str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Sort both frames in the order of the systems that the settings name.

    Baselines keep theirs. Pairs of all systems begin with those of the first.
    """
    if settings["order"] == "given":
        return means, pairs
    systems = means.select(pl.col("system").unique()).to_series().sort()
    if settings["order"] == "mean":
        measure = means["measure"][0]
        known = pl.col("mean").is_not_null() & (pl.col("measure") == measure)
        n = pl.when(known).then("queries")
        whole = (pl.col("mean") * n).sum() / n.sum()  # of all segments
        systems = (
            means.group_by("system", maintain_order=True)
            .agg(whole.fill_nan(None))
            .sort("mean", descending=measure not in lower, nulls_last=True,
                  maintain_order=True)["system"]
        )  # fmt: skip
    base, own = (
        pl.col(c).replace_strict(systems, range(len(systems)))
        for c in ("baseline", "system")
    )
    first, last = pl.min_horizontal(base, own), pl.max_horizontal(base, own)
    if (given := settings["baseline"]) is not None:
        named = [given] if isinstance(given, str) else list(given)
        first, last = pl.col("baseline").replace_strict(named, range(len(named))), own
    block = pl.struct(pairs.columns[: pairs.columns.index("baseline")]).rle_id()
    by_measure = pl.col("measure").rle_id()
    return (
        means.sort(by_measure, own, maintain_order=True),
        pairs.sort(block, first, last, maintain_order=True),
    )


def means_table(
    means: pl.DataFrame,
    pairs: pl.DataFrame,
    settings: Mapping[str, Any],
    lower: Sequence[str],
    *,
    in_percent: bool = False,
) -> Table:
    """Show a row per system and segment, a column per measure; the best is bold.

    A superscript names the systems that are significantly worse.
    """
    segments = [c for c in means.columns if c not in MEANS]
    measures = means["measure"].unique(maintain_order=True).to_list()
    systems = means["system"].unique(maintain_order=True).to_list()
    sign = dict(zip(systems, letters_of(len(systems)), strict=True))
    beaten = significantly_worse(pairs, segments)
    mean = pl.col("mean")
    ends = pl.when(pl.col("measure").is_in(list(lower))).then(mean.min())
    best = ends.otherwise(mean.max()).over([*segments, "measure"])
    means = means.with_columns(best=(mean == best).fill_null(value=False))
    if segments:  # those of a segment together, as in the table of differences
        means = means.sort(*segments, maintain_order=True, nulls_last=False)
    rows = []
    for group in means.partition_by([*segments, "system"], maintain_order=True):
        known = {row["measure"]: row for row in group.iter_rows(named=True)}
        first = group.row(0, named=True)
        name, at = first["system"], tuple(first[s] for s in segments)
        cells = [
            *_segment(first, segments),
            Cell(name, superscript=sign[name] if beaten else ""),
            Cell(str(first["queries"])),
        ]
        for measure in measures:
            row = known.get(measure, UNKNOWN)
            text = _with_interval(row, "mean", in_percent)
            worse = sorted(sign[w] for w in beaten.get((*at, measure, name), []))
            cells.append(Cell(text, row["best"], "".join(worse)))
        rows.append(cells)
    if not segments:
        rows.sort(key=lambda cells: systems.index(cells[0].text))
    notes = []
    if beaten:
        family = f"adjusted p < {1 - settings['level']:.4g}"
        notes.append(
            f"Superscripts: significantly better than these systems ({family})."
        )
    unit = " in percent" if in_percent else ""
    title = f"Means{unit} with {percent(settings['level'])} intervals"
    headers = [*segments, "system", "queries", *measures]
    return Table(title, headers, rows, len(segments) + 1, notes)


MEANS = ("measure", "system", "queries", "mean", "se", "lower", "upper")
# A system that lacks a measure: no part of moments has both.
UNKNOWN: Mapping[str, Any] = {**dict.fromkeys(MEANS), "best": False}


def letters_of(n: int) -> list[str]:
    """Count in letters: a, b, ... z, a1, b1 ..."""
    return [
        ascii_lowercase[i % 26] + (str(i // 26) if i >= 26 else "") for i in range(n)
    ]


def significantly_worse(
    pairs: pl.DataFrame, segments: Sequence[str]
) -> dict[tuple[Any, ...], list[str]]:
    """List systems that are significantly worse, by segment, measure and system."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for row in pairs.drop_nulls("better").iter_rows(named=True):
        at = (*(row[s] for s in segments), row["measure"], row["better"])
        worse = "system" if row["better"] == row["baseline"] else "baseline"
        found.setdefault(at, []).append(row[worse])
    return found


def pairs_table(
    pairs: pl.DataFrame, settings: Mapping[str, Any], *, in_percent: bool = False
) -> Table:
    """Show a row per comparison."""
    segments = pairs.columns[: pairs.columns.index("measure")]
    effect, labels = EFFECTS[settings["effect"]], ("measure", "baseline", "system")
    p_columns = ["p"] if settings["correction"] == "none" else ["p", "adjusted"]
    columns = ["difference", *p_columns, effect, "W/T/L", "detectable"]
    if pairs["note"].null_count() < len(pairs):
        columns.append("note")
    rows = []
    for row in pairs.iter_rows(named=True):
        sure = bool(row["significant"])
        won = [str(row[name]) for name in ("wins", "ties", "losses")]
        difference = _with_interval(row, "difference", in_percent, sign=True)
        shown = {
            "difference": Cell(difference, sure),
            "p": Cell(_p(row["p_value"])),
            "adjusted": Cell(_p(row["p_adjusted"])),
            effect: Cell(number(row["effect"], 2)),
            "W/T/L": Cell("-" if row["wins"] is None else "/".join(won)),
            "detectable": Cell(_shown(row["detectable"], in_percent)),
            "note": Cell(row["note"] or ""),
        }
        if sure:
            decisive = p_columns[-1]
            shown[decisive] = Cell(shown[decisive].text, superscript="*")
        names = [Cell(row[c]) for c in labels]
        cells = [shown[name] for name in columns]
        rows.append([*_segment(row, segments), *names, *cells])
    unit = " in percent" if in_percent else ""
    at_once = "simultaneous " if settings["simultaneous"] else ""
    return Table(
        f"Differences{unit} with {at_once}{percent(settings['level'])} intervals",
        [*segments, *labels, *columns],
        rows,
        len(segments) + 3,
        [_method(pairs, settings), *settings["notes"]],
    )


def parts_tables(
    parts: pl.DataFrame | None, *, in_percent: bool = False
) -> list[Table]:
    """Show the largest parts of the differences in each measure, from each baseline."""
    if parts is None:
        return []
    about = [name for name in ("measure", "baseline") if name in parts.columns]
    several = "baseline" in about and parts["baseline"].n_unique() > 1
    tables = []
    for own in parts.partition_by(about, maintain_order=True):
        title = f"The largest parts of the difference in {own['measure'][0]}"
        title += f" from {own['baseline'][0]}" if several else ""
        shown = own.drop(about)
        labels = shown.columns.index("queries")
        rows = [
            [
                *(Cell(row[name]) for name in shown.columns[:labels]),
                Cell(str(row["queries"])),
                Cell(_shown(row["difference"], in_percent)),
                Cell(number(row["share"])),
            ]
            for row in shown.iter_rows(named=True)
        ]
        tables.append(Table(title, shown.columns, rows, labels))
    return tables


def pyterrier_table(
    means: pl.DataFrame, pairs: pl.DataFrame, correction: str
) -> pl.DataFrame:
    """Put means of systems and tests against the one baseline side by side."""
    baselines = pairs["baseline"].unique().to_list()
    if len(baselines) != 1 or pairs.columns[0] != "measure":
        msg = (
            "PyTerrier's table has one baseline and no segments: compare with "
            "baseline='bm25', say, and without by="
        )
        raise ValueError(msg)
    names = means["measure"].unique(maintain_order=True).to_list()
    wide = means.pivot(on="measure", index="system", values="mean")
    tested = {"+": "wins", "-": "losses", "p-value": "p_value"}
    if correction != "none":
        tested |= {"reject": "significant", "p-value corrected": "p_adjusted"}
    for measure in names:
        own = pairs.filter(pl.col("measure") == measure)
        found = own.select("system", **{f"{measure} {n}": c for n, c in tested.items()})
        wide = wide.join(found, on="system", how="left", maintain_order="left")
    rejects = pl.selectors.ends_with(" reject").fill_null(value=False)
    return wide.with_columns(rejects).rename({"system": "name"})


def _method(pairs: pl.DataFrame, settings: Mapping[str, Any]) -> str:
    """Describe the method in a sentence."""
    test = TESTS[settings["test"]]
    if settings["pairs"] == "independent":
        test = "Welch's t"
    parts = [test[0].upper() + test[1:]]
    if settings["margin"] is not None:
        parts[0] += f" within {settings['margin']:g}"
    if settings["alternative"] != "two-sided":
        parts.append(f"one-sided ({settings['alternative']})")
    if settings["correction"] != "none":
        parts.append(
            f"{CORRECTIONS[settings['correction']]} over {family_size(pairs, settings)}"
        )
    if settings["interval"] != "t":
        parts.append(f"{settings['interval']} intervals")
    parts += [
        f"{n} by {settings[n]}" for n in ("weight", "cluster", "repeat") if settings[n]
    ]
    alpha = 1 - settings["level"]
    adjusted = "adjusted p" if settings["correction"] != "none" else "p"
    text = f"{', '.join(parts)}; *: {adjusted} < {alpha:.4g}."
    if settings["simultaneous"]:
        text += " All intervals of a family hold at once."
    elif settings["correction"] != "none":
        text += " Intervals are not adjusted."
    if pairs["detectable"].null_count() < len(pairs):
        text += f" Detectable: with 80 % power{POWER.get(settings['correction'], '')}."
    return text


def family_size(pairs: pl.DataFrame, settings: Mapping[str, Any]) -> int:
    """Count the tests in the largest family."""
    tested = pairs.filter(pl.col("p_value").is_not_null())
    if settings["family"] == "none" or not len(tested):
        return min(1, len(tested))
    if settings["family"] == "all":
        return len(tested)
    return int(tested.group_by("measure").len()["len"].max())  # type: ignore[arg-type]


def _with_interval(
    row: Mapping[str, Any], name: str, in_percent: bool, *, sign: bool = False
) -> str:
    """Show a value with its interval."""
    value, ends = row[name], (row["lower"], row["upper"])
    if value is None:
        return "-"
    text = _shown(value, in_percent)
    if sign and value > 0 and float(text) != 0:
        text = f"+{text}"
    if None in ends:
        return text
    shown = (f"{e:g}" if isinf(e) else _shown(e, in_percent) for e in ends)
    return f"{text} [{', '.join(shown)}]"


def _shown(value: float | None, in_percent: bool) -> str:
    return number(100 * value, 2) if in_percent and value is not None else number(value)


def _p(value: float | None) -> str:
    return "<0.0001" if value is not None and value < SMALLEST else number(value)


def letters(
    means: pl.DataFrame, pairs: pl.DataFrame, lower: Sequence[str]
) -> pl.DataFrame:
    """Give systems letters: those that share one do not differ significantly.

    Source: Piepho, 2004 (insert and absorb).
    """
    keys = [*(c for c in means.columns if c not in MEANS), "measure"]
    parts = []
    for group in means.partition_by(keys, maintain_order=True):
        first = group.row(0, named=True)
        ordered = group.sort(
            "mean",
            descending=first["measure"] not in lower,
            nulls_last=True,
            maintain_order=True,
        )
        systems = ordered["system"].to_list()
        same = pl.all_horizontal(pl.col(k).eq_missing(pl.lit(first[k])) for k in keys)
        sure = pairs.filter(same & pl.col("significant")).select("baseline", "system")
        groups = _not_told_apart(systems, sure.rows())
        signs = letters_of(len(groups))
        shown = [
            "".join(s for s, c in zip(signs, groups, strict=True) if name in c)
            for name in systems
        ]
        column = pl.Series(shown, dtype=pl.String)
        parts.append(ordered.select(*keys, "system", "mean", letters=column))
    return pl.concat(parts)


def _not_told_apart(
    systems: Sequence[str], different: Sequence[tuple[str, str]]
) -> list[set[str]]:
    """Find the largest sets of systems of which no two are different."""
    found: list[set[str]] = [set(systems)]
    for a, b in different:
        # Insert the two sets that lack one of them each, absorb what is within another.
        split = [c - {x} for c in found if {a, b} <= c for x in (a, b)]
        found = [c for c in found if not {a, b} <= c] + split
        found = [
            c
            for i, c in enumerate(found)
            if not any(c < o or (c == o and j < i) for j, o in enumerate(found))
        ]
    return sorted(found, key=lambda c: sorted(map(systems.index, c)))
