"""The command ``page``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias
from warnings import catch_warnings

import polars as pl

import polars_rank
from polars_rank import analysis, report
from polars_rank.analysis.difference_parts import reasons_of
from polars_rank.cli.commands.gate import margins
from polars_rank.cli.commands.moments import PERIOD, over_time
from polars_rank.cli.commands.why import Explained, first_and_others
from polars_rank.cli.derive import UsageError, accepted, group, options_of
from polars_rank.cli.input.options import Queried
from polars_rank.cli.input.runs import (
    Files,
    Options,
    chosen,
    open_file,
    recorded,
    taken,
)
from polars_rank.cli.input.values import Asked
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import emit
from polars_rank.comparison.sums.moments import is_moments
from polars_rank.exceptions import DataError, counted
from polars_rank.report.web.page_content import of_values

SYSTEM = "system"
USUAL = ("ndcg@10",)
ABOUT = ("by", "weight", "weight_before", "cluster")
Views: TypeAlias = list[tuple[dict[str, str], pl.DataFrame]]  # queries, and labels


@group
class Page(Queried):
    """What a page shows beside the reasons."""

    documents: str | None = None
    days: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    margin: tuple[str, ...] = ()
    min_queries: int = 20

    def compared(
        self,
        values: pl.DataFrame,
        measures: Sequence[str] | None,
        asked: Options,
        by: Sequence[str] | None = None,
    ) -> Options:
        """The differences from the first system, and a verdict if there is a margin.

        Of moments, the differences of all pairs.
        """
        summed = is_moments(values.columns)
        if summed and (self.margin or self.features):
            raise UsageError("--margin and --features need runs, or values per query.")
        roles = chosen(asked, ("level", "weight", "cluster")) | {"query": self.query}
        base = None if summed else values[SYSTEM][0]
        with catch_warnings(action="ignore"):
            found = polars_rank.compare(
                *(values, measures), system=SYSTEM, baseline=base, by=by, **roles
            )
        if not self.margin:
            return {"comparison": found, "gate": None}
        parts = values.partition_by(SYSTEM, maintain_order=True, include_key=False)
        if len(parts) != 2:
            msg = "--margin is of a gate, of the run before and one run after."
            raise UsageError(msg)
        roles |= chosen(asked, ["by"]) | {"margin": margins(self.margin)}
        verdict = polars_rank.gate(parts[1], measures, baseline=parts[0], **roles)
        return {"comparison": found, "gate": verdict}

    def trend(
        self, files: Sequence[str], measures: Sequence[str]
    ) -> pl.DataFrame | None:
        """The trend over the moments of days, if there are any."""
        days = (*self.days, *files)
        if not days:
            return None
        moments, summed = over_time(days, None, None, measures)
        if not summed:
            raise UsageError(f"{days[0]}: holds no moments; see polars-rank moments.")
        return polars_rank.comparison.trend(moments, measures or None, time=PERIOD)

    def slices(self, views: Views) -> pl.DataFrame | None:
        """The slices of queries of each comparison, under its labels."""
        about, query, found = self.segments().get("segments"), list(self.query), []
        for labels, queries in views if self.features else ():
            values = queries.lazy()
            if about is not None:
                more = [name for name in self.features if name not in queries.columns]
                values = values.join(about.select(*query, *more), on=query, how="left")
            slices = analysis.slices(
                values, self.features, query=query, min_queries=self.min_queries
            )
            named = [pl.lit(text).alias(label) for label, text in labels.items()]
            found.append(slices.select(*named, pl.all()))
        return pl.concat(found) if found else None


@options_of(
    analysis.reasons,
    report.page,
    without=(
        *("queries", "segments", "layout", "after", SYSTEM),
        *("path", "about_documents", "about_queries"),
    ),
)
def page(
    *files: str,
    data: Page,
    output: Path,
    measures: tuple[str, ...] = (),
    **options: Any,
) -> None:
    """Write one HTML file that shows why means moved, down to the documents.

    The FILEs are the run before, the run after it, or several, and their judgments, as
    for evaluate; or one file with values per query, whose first system is the one
    before; or moments of days. Of several runs or measures a reader of the page
    chooses; measures that are no sums over documents are in its table of all measures
    only. The file can be mailed: it asks nothing of any server.
    """
    first = data.open(files[0], "run") if files else pl.LazyFrame()
    columns, rank = first.collect_schema().names(), options.get("rank")
    summed = is_moments(columns)
    shown = taken(options, accepted(report.page, options))
    alone = len(files) == 1 and data.qrels is None
    with Bar(options), recorded() as said:
        if summed or (alone and (rank or data.score) not in columns):
            content = _of_values(files, data, measures, options)
        else:
            given = data.sort_out(files, rank, dict.fromkeys(files[:1], first))
            depth = accepted(analysis.reasons, shown)  # the reasons go down to it, too
            content = _of_runs(given, data, measures or USUAL, options | depth)
        content["notes"] = [*dict.fromkeys(said), *content.get("notes", ())]
        count = content.pop("count")
        about = open_file(data.documents, "qrels") if data.documents else None
        report.page(
            path=output,
            **content,
            **shown,
            trend=data.trend(files if summed else (), measures),
            query=data.query,
            about_documents=about,
            about_queries=data.segments().get("segments"),
        )
    emit(f"{output}: {counted(count, 'query')}\n")


def _of_runs(
    given: Files, data: Page, measures: Sequence[str], options: Options
) -> Options:
    """What a page shows of runs, down to the documents."""
    if len(given.runs) < 2:
        msg = "name the run before, the run after it, or several, and their judgments."
        raise UsageError(msg)
    if "qrels_before" in options:
        old = data.open(options["qrels_before"], "qrels")
        given = replace(given, before=old)
        options["qrels_before"] = data.renamed(old)
    runs, asked = data.named(given)
    asked |= options
    if any(map(options.get, ABOUT)):
        asked |= data.segments()
    why, notes = reasons_of(*first_and_others(runs), measures, **asked)
    found: Options = {"comparison": None, "gate": None}
    # If the weights of the first run are others, nothing is paired.
    several = (len(measures) > 1 or len(runs) > 2) and "weight_before" not in asked
    if several or data.margin:
        wanted = Asked.of(data, options | {"measures": measures}, SYSTEM)
        memory = chosen(asked, ("memory_limit", "temp_dir"))
        wanted = replace(wanted, choices=wanted.choices | memory)
        with catch_warnings(action="ignore"):  # they were told with the reasons
            values = wanted.joined(wanted.of_runs(given), str(given))
        known = (SYSTEM, *data.query, *wanted.beside)
        names = [name for name in values.columns if name not in known]
        found = data.compared(values, names, asked)
    facts, judged = {"files": str(given)}, data.fingerprint(given)
    facts |= {} if judged is None else {"judgments": judged}
    measure = why[0].settings["measure"]
    return {
        "reasons": why,
        "comparison": found["comparison"] if several else None,
        "gate": found["gate"],
        "slices": data.slices(_labeled(why)),
        "to_judge": _judged_next(runs, measure, asked),
        "names": (given.runs[0].name, given.runs[1].name),
        "facts": facts | {"to judge": f"by {measure}"},
        "notes": notes,
        "count": why[0].queries[[*data.query]].n_unique(),
    }


def _of_values(
    files: Sequence[str], data: Page, measures: Sequence[str], options: Options
) -> Options:
    """What a page shows of values per query, or of moments: no documents."""
    asked = Asked.of(data, options | {"measures": measures}, SYSTEM)
    values, _ = asked.values(files)
    by = options.get("by") or None
    found = data.compared(values, asked.measures or None, options, by)
    # Of segments, all are added up.
    counts = found["comparison"].means.group_by("measure", "system")
    views = [
        ({"measure": own.settings["measure"], SYSTEM: pair[1]}, own.queries)
        for own, pair in of_values(found["comparison"])
    ]
    return found | {
        "slices": data.slices(views),
        "facts": {"files": ", ".join(files)},
        "count": counts.agg(pl.sum("queries"))["queries"].max(),
    }


def _labeled(why: Sequence[Explained]) -> Views:
    """The queries of each comparison, with what tells it from the others."""
    found: Views = []
    for reasons in why:
        measure = {"measure": reasons.settings["measure"]} if len(why) > 1 else {}
        if isinstance(reasons, analysis.SeveralReasons):
            each = reasons.of.items()
            found += [(measure | {SYSTEM: name}, own.queries) for name, own in each]
        else:
            found.append((measure, reasons.queries))
    return found


def _judged_next(
    runs: dict[str, pl.LazyFrame], measure: str, asked: Options
) -> pl.DataFrame | None:
    """The documents to judge next; None if all are judged, or a query has no weight."""
    if asked["qrels"] is None:
        return None
    try:
        return analysis.to_judge(runs, measure, **accepted(analysis.to_judge, asked))
    except DataError as error:
        # Judgments that hold the weights have none of queries without judgments.
        if error.rule not in ("nothing_to_judge", "invalid_weight"):
            raise
        return None
