"""The options that only the command has: group and line of help, by name.

An option that means something else in one place is ``place.name``: a function that is
a command, or a module of several.
"""

from __future__ import annotations

from typing import Any

from polars_rank.core.vocabulary import kinds

FORMAT = "Format of these files; default: by their name."
LISTED = "Columns of files without a header, such as query_id,doc_id,score."
OWN = kinds(
    file={
        "base": "Values of the ranking that is live, or its run.",
        "clicks.example": "Use the log that ships with the package.",
        "clicks.files": "Files with one row per document that an impression showed.",
        "days": "Moments of a day, for the trend; may be repeated.",
        "documents": "Attributes of documents, such as --title.",
        "example": "Use the example that ships with the package.",
        "files": "Runs and, last, the judgments; or one file with all that is needed.",
        "power.file": "Values of a pilot, such as evaluate --per-query writes; or use "
        "--sd.",
        "propensities": "File with position and propensity (or alpha and beta); "
        "counterfactual also takes harvest, to estimate them from this log, with their "
        "errors in the intervals.",
        "queries": "File with one row per query and the columns of --by, --weight and "
        "--cluster; without it, they are columns of the runs or judgments.",
        "simulate.example": "Write the log that ships with the package; all other "
        "options are ignored.",
        "slices.files": "Values per query, with their features; or sums of days.",
        **dict.fromkeys(("train", "test"), "File with one row per interaction."),
        **dict.fromkeys(("run_format", "qrels_format"), FORMAT),
        **dict.fromkeys(("run_columns", "qrels_columns"), LISTED),
        "wide": "The FILE is a table of topics by systems, a column for each system, "
        "with values of this measure.",
    },
    column={
        "evaluate.system": "Column that names the systems in one file; with several "
        "runs, name of the output column with their tags or file names (default: "
        "system)."
    },
    choice={
        "edges": "Where a number is cut, instead of --n-bins, such as words=2,4; may "
        "be repeated.",
        "eta": "Instead of a file: the propensity is position ** -eta.",
        "explain.measure": "Measure, such as ndcg@10.",
        "fail_on": "Exit with status 3 if something breaks this rule.",
        "floor": "Lowest mean that is allowed, such as ndcg@10=0.42.",
        "gate.margin": "Largest drop that does not matter: 0.01, or ndcg@10=0.01 for "
        "one measure.",
        "n_impressions": "Number of impressions, such as 10000 or 1e6.",
        "page.margin": "Show the verdict of a gate with this margin, such as 0.01.",
        "page.min_queries": "Slices with fewer queries, in either half, are not tried.",
        "strict": "Fail on warnings, too.",
        "threshold": "The label is the number of thresholds that the estimate "
        "reaches; may be repeated.",
    },
    output={
        "compare.table": "Print this table only; pairs are the differences, "
        "between_segments tells whether they differ between segments. Default: means "
        "and pairs; in csv and tsv pairs.",
        "each": "Print the values of every query instead of the means.",
        "evaluate.per_query": "Also write the values of every query to this file; "
        "with -, print them instead of the means.",
        "format": "Default: table on a terminal, csv elsewhere.",
        "gate.format": "What to print.",
        "json_file": "Write everything to this file as JSON.",
        "largest_parts": "Print the largest parts of each difference from --baseline "
        "(or the first run), too: segments, and documents that were lost, gained or "
        "moved.",
        "mark": "Event to mark in the picture, such as 2026-11-22=release 7; may be "
        "repeated.",
        "moments.out": "Write the sums to this Parquet file, with measures, "
        "convention and judgments; they are printed then only with --format.",
        "out": "Also write the result to this Parquet file.",
        "output": "The page to write.",
        "per_query": "Also write the result to this Parquet file.",
        "plot": "Draw the result into this file.",
        "quote_formulas": "In CSV and TSV, put ' before text that begins with =, +, - "
        "or @, which a spreadsheet would run as a formula.",
        "report": "Write Markdown for a pull request to this file.",
        "slices.out": "Write the sums of FILE, which add up over days, to this Parquet "
        "file, and search nothing.",
        "simulate.out": "Parquet file for the log.",
        "table": "Print this table only. Default: summary and segments; in csv, tsv "
        "and json summary.",
        "truth": "Also write the relevance of every document to this Parquet file.",
        "update_baseline": "Write the new values to BASE, and check nothing.",
    },
)
METAVARS = {"file": "FILE", "output": "FILE", "column": "COLUMN"}
# What differs from --name-of-the-option, or says more than the type.
SPELT: dict[str, dict[str, Any]] = {
    "baseline": {"metavar": "SYSTEM"},
    "choices": {"name": "--choice", "metavar": "NAME"},
    "clicks.files": {"name": "LOG"},
    "control": {"metavar": "ARM"},
    "convention": {"metavar": "NAME"},
    "each": {"name": "-q"},
    "edges": {"metavar": "FEATURE=NUMBERS"},
    "explain.measure": {"name": "MEASURE"},
    "files": {"name": "FILE"},
    "floor": {"metavar": "MEASURE=NUMBER"},
    "format": {"metavar": "CHOICE"},
    "gate.margin": {"metavar": "[MEASURE=]NUMBER"},
    "json_file": {"name": "--json"},
    "mark": {"metavar": "PERIOD=NAME"},
    "max_rank": {"name": ("--max-rank", "-M"), "metavar": "PLACE"},
    "measure": {"name": ("--measure", "-m"), "metavar": "MEASURE"},
    "measures": {"name": ("--measure", "-m"), "metavar": "MEASURE"},
    "memory_limit": {"metavar": "SIZE"},
    "moments.out": {"name": ("--out", "-o")},
    "output": {"name": ("--output", "-o")},
    "page.margin": {"metavar": "[MEASURE=]NUMBER"},
    "qrels_columns": {"metavar": "NAME,NAME..."},
    "rel": {"metavar": "GRADE"},
    "run_columns": {"metavar": "NAME,NAME..."},
    "slices.out": {"name": ("--out", "-o")},
    "temp_dir": {"metavar": "FOLDER"},
    "wide": {"metavar": "MEASURE"},
}
EXTENSIONS = {  # of files that are written
    **dict.fromkeys(("out", "per_query", "truth"), ("parquet",)),
    "output": ("html",),
    "plot": ("png", "svg", "html", "pdf"),
}
