"""Commands that describe measures, conventions, the ids of a run, or a split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

import polars_rank
from polars_rank import recommend
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import NONE, Input
from polars_rank.cli.input.runs import Options, Run
from polars_rank.cli.output.words import STDIN, terminal
from polars_rank.cli.shown import Shown, pairs, show
from polars_rank.conventions.explain import Choice, explanation
from polars_rank.conventions.tools import DEFAULT, TOOLS, complete_arguments
from polars_rank.core.metric.registry import METRICS, Metric
from polars_rank.recommend.split_report import Rule
from polars_rank.report.table import visible


@options_of()
def measures(*, shown: Shown) -> None:
    """List the measures by family: names, what is measured, parameters and defaults.

    Names after "also" are what other tools call the measure.
    """
    rows = [
        (m.family, m.name, _marked(m.summary).plain, _parameters(m), _aliases(m))
        for m in METRICS.values()
    ]
    columns = ["family", "measure", "description", "parameters", "aliases"]
    found = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    shown.rows(found, len(columns), _families())


@options_of()
def conventions(*, shown: Shown) -> None:
    """List the conventions: name, tool, and its choices in a few words."""
    rows = [(name, tool.name, tool.follows) for name, tool in TOOLS.items()]
    table = _grid((n, Text(tool, style="cyan"), Text(does)) for n, tool, does in rows)
    columns = ["convention", "tool", "description"]
    found = pl.DataFrame(rows, schema=columns, orient="row")
    shown.rows(found, 3, [table])


def _families() -> Iterator[Table | Text]:
    width = max(len(m.name) for m in METRICS.values())
    for i, family in enumerate(dict.fromkeys(m.family for m in METRICS.values())):
        yield Text(("\n" if i else "") + family, style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(min_width=width + 2)
        table.add_column()
        for metric in METRICS.values():
            if metric.family == family:
                about = _marked(metric.summary)
                if metric.aliases:
                    about.append(f"\nalso {_aliases(metric)}", style="cyan")
                about.append(f"\n{_parameters(metric)}", style="dim")
                table.add_row(Text(f"  {metric.name}"), about)
        yield table


@options_of()
def explain(measure: str, /, *, convention: str = DEFAULT) -> None:
    """Explain a measure: definition, choices, undefined case, source, tools.

    The measure is such as ndcg@10, "err(max_grade=3)@20", or another tool's name such
    as map_cut_100.
    """
    said = explanation(measure, convention)
    width = 80 if terminal() else None
    choices = [
        (f"  {c.name}", Text(c.shown, style="cyan"), _source(c)) for c in said.choices
    ]
    sections = [(name, _marked(body)) for name, body in said.sections.items()]
    title, is_own, own = said.title.partition("  is  ")
    show(
        Text.assemble((visible(title), "bold"), is_own, own),
        *(part for p in said.definition for part in (_marked(p), Text())),
        _grid(choices, width),
        Text(),
        _grid(sections, width),
    )
    if said.tools:
        tools = [(f"  {n}", Text(own), Text(says)) for n, own, says in said.tools]
        show(Text("\nTested against", style="bold"), _grid(tools, width))


@options_of()
def match_report(*files: str, data: Input, shown: Shown) -> None:
    """Report how the ids of a run match those of its judgments: counts and shares."""
    given = data.sort_out(files)
    if given.qrels is None or len(given.runs) > 1:
        raise UsageError("give one run and its judgments.")
    [found] = given.each(_matched, data.options(given))
    counted = {n: v if v is None or "share" in n else int(v) for n, v in found.rows()}
    shown.rows(found, 1, [pairs("", "value", counted)])


def _matched(_: Run, frame: pl.LazyFrame, asked: Options) -> pl.DataFrame:
    return polars_rank.match_report(frame, **asked).collect(engine="streaming")


@options_of(recommend.check_split)
def split_check(
    train: str,
    test: str,
    /,
    *,
    fail_on: tuple[Rule, ...] = (),
    shown: Shown,
    **options: Any,
) -> int:
    """Check a split of interactions: leaks, cold users and items, repeated pairs.

    TRAIN and TEST have one row per interaction; --time none if they have no time.
    """
    if options.get("time") == NONE:
        options["time"] = None
    files = ("-" if name == STDIN else name for name in (train, test))
    report = recommend.check_split(*files, **options)
    if shown.form == "table":
        show(*(visible(line) for line in str(report).split("\n")))
    else:
        shown.frame(report.findings, "")
    broken = report.findings.filter(pl.col("count") > 0)["rule"]
    return 3 if {*fail_on} & {*broken} else 0


def _grid(rows: Iterable[Sequence[str | Text]], width: int | None = None) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(max_width=width)
    table.add_column(max_width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _source(choice: Choice) -> Text:
    source = f"  ({choice.source})" if choice.source else ""
    return Text.assemble(choice.words, (source, "dim"))


def _parameters(metric: Metric) -> str:
    return _values(complete_arguments(metric))


def _aliases(metric: Metric) -> str:
    return ", ".join(
        alias + (f" ({_values(preset)})" if preset else "")
        for alias, preset in metric.aliases.items()
    )


def _values(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{n}={'none' if v is None else v}" for n, v in params.items())


def _marked(text: str) -> Text:
    """Join the lines of a paragraph and set off what is in double backticks."""
    words = " ".join(text.split()).split("``")
    styles = ["", "cyan"] * len(words)
    return Text.assemble(*zip(words, styles, strict=False))
