"""One HTML file that shows a difference, down to its documents."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from polars_rank.core.extras import require
from polars_rank.core.parameters import is_whole
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.report.web.page_charts import (
    forest,
    histogram,
    segment_bars,
    trend_lines,
)
from polars_rank.report.web.page_content import (
    LISTED,
    Asked,
    OfValues,
    columns_of,
    documents_of,
    holes_of,
    identified,
    of_values,
    queries_of,
    unjudged_of,
)

HERE = Path(__file__).parent
PLACES = 4  # decimals
LARGEST = 8  # parts of a difference in words


def page(
    reasons: Any = (),
    path: str | Path | None = None,
    *,
    comparison: Any = None,
    gate: Any = None,
    slices: pl.DataFrame | None = None,
    trend: pl.DataFrame | None = None,
    to_judge: pl.DataFrame | None = None,
    query: str | Sequence[str] = "query_id",
    about_documents: FrameLike | None = None,
    about_queries: FrameLike | None = None,
    title: str | None = None,
    text: str | None = None,
    url: str | None = None,
    names: tuple[str, str] = ("before", "after"),
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    max_queries: int = 200,
    max_documents: int = 20,
) -> str:
    """Return one HTML file that shows why means moved, and write it to a path.

    The file asks nothing of any server: style, script, pictures and data are in it.

    Parameters
    ----------
    reasons
        Result of :func:`polars_rank.analysis.reasons`, of one run or several; or a list
        of them, one for each measure. A reader chooses one of the comparisons. Without
        them, the page has what the comparison and the trend tell, and no documents.
    path
        File to write.
    comparison, gate
        Results of :func:`compare` and :func:`gate` of the same runs. Without
        ``reasons``, the queries are those of the comparison, if it holds their values.
    slices, trend
        Frames of :func:`polars_rank.analysis.slices` and
        :func:`polars_rank.comparison.trend`.
    to_judge
        What to judge next, offered as a CSV file; by default the unjudged documents on
        the page, the highest ranks first.
    query
        Columns that name the query.
    about_documents, about_queries
        Attributes of documents and of queries, with the columns of their ids.
    title, url
        Columns of ``about_documents``: what is shown, and where a link leads. Only
        links that begin with ``http://`` or ``https://`` are made.
    text
        Column of ``about_queries`` with what was asked.
    names
        Names of the two runs; of several runs, the second is not used.
    facts
        What else a reader should know: settings, fingerprints of the inputs.
    notes
        Warnings.
    max_queries
        Number of queries whose lists are shown: those that moved the mean most.
    max_documents
        Lowest rank that is shown of a list. What is left out is said on the page.

    Returns
    -------
    The HTML.

    Raises
    ------
    ValueError
        For wrong arguments.
    polars.exceptions.ColumnNotFoundError
        For columns that are not there.

    Examples
    --------
    >>> from polars_rank import analysis, report
    >>> before, after = {"q1": {"a": 2, "b": 1}}, {"q1": {"b": 2, "a": 1}}
    >>> why = analysis.reasons(before, after, "rr", qrels={"q1": {"a": 1}})
    >>> report.page(why)[:15]
    '<!doctype html>'
    """
    for name, value in (("max_queries", max_queries), ("max_documents", max_documents)):
        if not is_whole(value) or value < 1:
            msg = f"{name} must be a whole number from 1, not {value!r}"
            raise ValueError(msg)
    chosen = _comparisons(reasons, names)
    if not chosen and comparison is not None:
        chosen = of_values(comparison)
    if not chosen and comparison is None and trend is None:
        msg = (
            "a page needs reasons, a comparison or a trend: give the result of "
            "analysis.reasons, or comparison= or trend="
        )
        raise ValueError(msg)
    segments = chosen[0][0].segments if chosen else None
    by = [] if segments is None else segments.columns[: _place(segments, "queries")]
    asked = Asked(
        [query] if isinstance(query, str) else [*query],
        by,
        None
        if about_documents is None
        else as_polars(about_documents, name="about_documents").lazy(),
        None
        if about_queries is None
        else as_polars(about_queries, name="about_queries").lazy(),
        title,
        text,
        url,
        max_queries,
        max_documents,
    )
    doc = _doc(chosen[0][0].documents) if chosen else "doc_id"
    asked.require(doc)
    shared = [*(gate.notes if gate is not None else ()), *notes]
    views, rows, unjudged = [], [], []
    for found, pair in chosen:
        why = found
        if _depth(found) is not None:  # few documents, which are read again
            held = found.documents.lazy().collect(engine="streaming")
            why = replace(found, documents=held)
        queries = queries_of(why.queries, asked)
        documents = documents_of(why.documents, queries, asked, doc)
        if not isinstance(why, OfValues):
            unjudged.append(unjudged_of(documents))
        rows.append(_data(queries, documents, pair, asked, why))
        views.append(_view(why, pair, asked, {**(facts or {})}, shared))
    judge = to_judge
    if judge is None and unjudged:
        judge = _together(unjudged)
    measures = [*dict.fromkeys(view["measure"] for view in views)]
    pairs = [*dict.fromkeys(tuple(pair) for _, pair in chosen)]
    first = measures[0] if measures else None
    return _written(
        path,
        data={"views": rows, "judge": "" if judge is None else judge.write_csv()},
        title=_title(measures, pairs),
        views=views,
        has_lists=bool(unjudged),
        facts=facts or {},
        notes=shared,
        has_segments=segments is not None,
        pairs=_pairs(comparison),
        gate=gate,
        checks=_checks(gate),
        slices=_table(slices),
        trend=_trend(trend, first),
        judged_by=_judged_by(facts),
        **_judged_next(judge, asked, rows[0]["shown"] if rows else []),
    )


def _comparisons(reasons: Any, names: tuple[str, str]) -> list[tuple[Any, list[str]]]:
    """Return the reasons of each measure and run, with the names of both runs."""
    found = []
    several = isinstance(reasons, list | tuple)
    for why in reasons if several else [] if reasons is None else [reasons]:
        runs = {names[1]: why} if not hasattr(why, "of") else why.of
        found += [(own, [names[0], name]) for name, own in runs.items()]
    return found


def _doc(documents: Any) -> str:
    """Name the column of document ids: it is the one before the ranks."""
    columns: list[str] = documents.collect_schema().names()
    return columns[columns.index("baseline_rank") - 1]


def _title(measures: Sequence[str], pairs: Sequence[tuple[str, ...]]) -> str:
    if not measures:
        return "Means and differences"
    after = ", ".join(dict.fromkeys(pair[1] for pair in pairs))
    return f"{', '.join(measures)}: {pairs[0][0]} and {after}"


def _data(
    queries: pl.DataFrame,
    documents: pl.DataFrame,
    names: list[str],
    asked: Asked,
    reasons: Any,
) -> dict[str, Any]:
    """Return what the script of the page reads of a comparison."""
    few = queries["id"].head(asked.max_queries)
    return {
        "names": names,
        "by": asked.by,
        "count": len(reasons.queries),
        "lists": not isinstance(reasons, OfValues),
        "queries": columns_of(queries.drop(asked.query)),
        "documents": columns_of(documents),
        "shown": [*dict.fromkeys([*documents["id"], *few])],
    }


def _depth(reasons: Any) -> int | None:
    """Return down to which rank all documents are there; None: all are."""
    ranks = (reasons.settings.get(name) for name in ("k", "max_documents"))
    return min((rank for rank in ranks if rank is not None), default=None)


def _view(
    reasons: Any,
    names: list[str],
    asked: Asked,
    facts: Mapping[str, str],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what the template shows of a comparison."""
    count = len(reasons.queries)
    holes = holes_of(reasons.documents, asked, _depth(reasons), names)
    return {
        "measure": reasons.settings["measure"],
        "names": names,
        "lists": not isinstance(reasons, OfValues),
        "headline": _headline(reasons),
        "facts": {**_facts(reasons), **facts},
        "notes": [*reasons.notes, *notes, *holes],
        "largest": _table(reasons.largest(LARGEST)),
        "differences": _differences(reasons),
        "segments": _segments(reasons.segments, asked.by),
        "limits": {
            "queries": count,
            "listed": min(count, LISTED),
            "shown": min(count, asked.max_queries),
            "documents": asked.max_documents,
            "depth": min(_depth(reasons) or asked.max_documents, asked.max_documents),
        },
    }


def _together(unjudged: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the unjudged documents of all comparisons, each at its best rank."""
    keys = ["query_id", "doc_id"]
    found = pl.concat(unjudged).group_by(keys).agg(pl.col("rank").min())
    return found.sort("rank", *keys)


def _written(path: str | Path | None, **content: Any) -> str:
    jinja = require("jinja2", "page")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    script = (HERE / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = environment.get_template("page.html.jinja").render(
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=script,
        digest=digest,
        **content,
    )
    if path is not None:
        Path(path).write_text(html, encoding="utf-8", newline="\n")
    return str(html)


def _headline(reasons: Any) -> dict[str, Any]:
    row = reasons.summary.row(0, named=True)
    moved = reasons.queries["difference"]
    return {
        "before": reasons.settings["baseline_mean"],
        "after": reasons.settings["mean"],
        "difference": row["difference"],
        "lower": row["lower"],
        "upper": row["upper"],
        "wins": int((moved > 0).sum()),
        "losses": int((moved < 0).sum()),
        "ties": int((moved == 0).sum()),
        "level": f"{100 * reasons.settings['level']:.4g}",
    }


def _facts(reasons: Any) -> dict[str, str]:
    return {name: str(reasons.settings[name]) for name in ("measure", "level")}


def _differences(reasons: Any) -> dict[str, Any]:
    parts = reasons.summary.filter(pl.col("part") != "difference")
    parts = parts.with_columns(
        item=pl.format("{}: {}", "part", "item"), lower="lower", upper="upper"
    )
    moved = reasons.queries["difference"]
    return {
        "forest": forest(parts) if len(parts) else "",
        "histogram": histogram(moved) if moved.drop_nulls().len() else "",
        "parts": _table(reasons.summary),
    }


def _checks(gate: Any) -> list[str]:
    """Tell what a gate found wrong."""
    if gate is None:
        return []
    wrong = gate.checks.filter(~pl.col("verdict").is_in(["pass", "untested"]))
    segments = wrong.columns[: _place(wrong, "queries")]
    return [
        f"{', '.join(str(row[name]) for name in segments)}: the mean moved by "
        f"{_number(row['difference'], '+')}, and the margin is "
        f"{_number(row['margin'])}: {row['verdict']}"
        for row in wrong.to_dicts()
    ]


def _judged_by(facts: Mapping[str, str] | None) -> str:
    """Name the measure that decides what to judge, if it is known."""
    known = (facts or {}).get("to judge", "").removeprefix("by ")
    return f" of {known}" if known else ""


def _pairs(comparison: Any) -> dict[str, Any] | None:
    if comparison is None:
        return None
    _, pairs = comparison.in_order()
    labels = pairs.columns[: _place(pairs, "queries")]
    shown = ["baseline_mean", "mean", "difference", "lower", "upper", "p_adjusted"]
    return _table(pairs.select(*labels, "queries", *shown))


def _segments(segments: pl.DataFrame | None, by: Sequence[str]) -> Any:
    if segments is None:
        return None
    text = {name: pl.col(name).cast(pl.String).fill_null("-") for name in by}
    size = pl.col("contribution").abs()
    named = segments.with_columns(item=pl.concat_str([*text.values()], separator=", "))
    named = named.sort(size, descending=True, nulls_last=True)
    alone = [
        segments.group_by(pl.format("{}: {}", pl.lit(name), value).alias("item"))
        .agg(pl.col("within", "mix", "contribution").sum())
        .sort(-size, "item")
        for name, value in text.items()
    ]
    return {
        "alone": segment_bars(pl.concat(alone)) if len(by) > 1 else "",
        "bars": segment_bars(named),
        **(_table(_with_shares(named, by)) or {}),
    }


def _with_shares(segments: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the columns that tell apart: an interval is beside its difference."""
    share, whole = pl.col("contribution"), pl.col("contribution").sum()
    shown = [*by, "queries", "baseline_mean", "mean", "difference", "lower", "upper"]
    if segments["mix"].abs().max():
        before = pl.col("baseline_share").alias("share of queries before")
        mixed = [pl.col("within"), pl.col("mix"), before]
    else:
        mixed = []
    return segments.select(
        *(name for name in shown if name in segments.columns),
        *mixed,
        pl.col("share").alias("share of queries"),
        "contribution",
        pl.when(whole != 0).then(share / whole).alias("share of the difference"),
    )


def _judged_next(
    judge: pl.DataFrame | None, asked: Asked, shown: Sequence[str]
) -> dict[str, Any]:
    """Return the first documents to judge, with links to the lists on the page."""
    if judge is None:
        return {"judge": None, "n_judge": 0, "reverses": None, "stakes": False}
    few = judge.head(10)
    ids = identified(
        asked.query if {*asked.query} <= {*few.columns} else few.columns[:1]
    )
    links = [
        f"#q={quote(i, safe='')}" if i in shown else None
        for i in few.select(id=ids)["id"]
    ]
    known = "reverses" in judge.columns
    return {
        "judge": {**(_table(few.drop("label", strict=False)) or {}), "links": links},
        "n_judge": len(judge),
        "stakes": "stake" in judge.columns,
        "reverses": bool(judge["reverses"].any()) if known else None,
    }


def _trend(trend: pl.DataFrame | None, measure: str | None) -> dict[str, Any] | None:
    """Return the differences over time; of one system, its means."""
    if trend is None or trend.is_empty():
        return None
    paired = trend["baseline"].count() > 0
    rows = trend.filter(pl.col("baseline").is_not_null()) if paired else trend
    if measure in rows["measure"]:
        rows = rows.filter(measure=measure)
    series = pl.col("system")
    if paired:
        series = pl.format("{} − {}", "system", "baseline")
    if rows["measure"].n_unique() > 1:
        series = pl.format("{}: {}", "measure", series)
    period = pl.col(trend.columns[0]).cast(pl.String)
    named = rows.select("estimate", "lower", "upper", period=period, series=series)
    lines = trend_lines(named, "difference" if paired else "mean")
    return {"lines": lines, **(_table(rows) or {})}


def _table(frame: pl.DataFrame | None, most: int = 100) -> dict[str, Any] | None:
    if frame is None:
        return None
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    p_values = [name for name in frame.columns if name.startswith("p_")]
    small = 0.5 / 10**PLACES  # what would be shown as 0
    shown = frame.head(most).with_columns(
        pl.when(pl.col(name) < small)
        .then(pl.lit(f"< {10.0**-PLACES:.{PLACES}f}"))
        .otherwise(pl.col(name).map_elements(_number, pl.String))
        .alias(name)
        for name in p_values
    )
    return {
        "columns": [*zip(frame.columns, numeric, strict=True)],
        "rows": [[*zip(row, numeric, strict=True)] for row in shown.rows()],
        "left_out": max(0, len(frame) - most),
        "links": [],
    }


def _number(value: object, sign: str = "") -> str:
    """Return numbers as the other reports have them, with a real minus."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = f"{value:{sign}.{PLACES}f}".replace("-", "−")
        return text if text.strip("+−0.") else text.lstrip("+−")
    return str(value)


def _place(frame: pl.DataFrame, column: str) -> int:
    return frame.columns.index(column)
