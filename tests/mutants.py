"""Break the package one line at a time, and see a test fail each time.

    python tests/mutants.py               all mutants, by the quick tests
    python tests/mutants.py discount tie  those with one of these words in their name
    python tests/mutants.py --tier all    by the slow tests, too
    python tests/mutants.py --random 80 --seed 1    a sample of random changes instead

The last needs pytest-cov.

Each mutant is applied to a copy of the checkout, never to the checkout itself. The exit
code is 1 if one survives: then a test is missing. It is 1, too, if the text of a mutant
is not found exactly once: then the code has moved on, and the mutant has to follow.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("polars_rank", "tests", "docs", "benchmarks", "README.md", "pyproject.toml")
TIERS = {"quick": "not slow and not parity", "all": "not parity"}
LIMIT = 300  # seconds for the tests of one mutant
SECONDS = count(int(time.time()))  # when a file of the copy was written


class Mutant(NamedTuple):
    """One changed line.

    ``place`` is a file or a folder of the package; of a folder, the one file that has
    the ``old`` text, so that files may be renamed and split. ``tests`` are file names
    without ``test_``, perhaps with a word of the tests' names (``io:bad_line``); they
    are run in this order.
    """

    name: str
    place: str
    old: str
    new: str
    tests: str


WEIGHTS, RANKING = "core/weights.py", "core/words/ranking.py"
REGISTRY, SOURCE = "core/metric/registry.py", "core/source.py"
MEASURE, CONVENTION = "measures/measure.py", "conventions/convention.py"

MUTANTS = (
    # -- aggregates, sources, ties
    Mutant(
        "a carry of exact sums is lost",
        "core/exact/aggregate.py",
        "large = _joined(whole, upper, middle + carry)",
        "large = _joined(whole, upper, middle)",
        "aggregate",
    ),
    Mutant(
        "sums of parts keep the largest only",
        "core/exact/aggregate.py",
        'return column.max() if name.endswith("_high") else column.sum()',
        "return column.max()",
        "aggregate",
    ),
    Mutant(
        "the ratio of one user has no error",
        "core/exact/aggregate.py",
        "several = (n > 1) & (dd < d * d)",
        "several = (n > 1) & (d != 0)",
        "clicks_behavior:one_user",
    ),
    Mutant(
        "the ratio of one user of an arm has no error",
        "clicks/experiments/arm_comparisons.py",
        "several = squares < total[1] ** 2",
        "several = n > 1",
        "arms:one_user",
    ),
    Mutant(
        "a pair makes up for theta above a probability of 1",
        "clicks/bias/position_based.py",
        "return np.minimum(a, 1.0)",
        "return a",
        "clicks_propensities:steps_of_em",
    ),
    Mutant(
        "propensities are not estimated anew without a group",
        "clicks/off_policy/jackknife.py",
        "own = group == left_out",
        "own = group < 0",
        "clicks_jackknife:leaving_out",
    ),
    Mutant(
        "propensities of the same log are no doubt",
        "clicks/off_policy/system_estimates.py",
        "return found[0] > 0 and found == (of_clicks.first(), of_impressions.first())",
        "return False",
        "clicks_jackknife:too_short",
    ),
    Mutant(
        "a fit that did not converge has an estimate",
        "clicks/bias/several_positions/harvest.py",
        "nothing = np.full_like(fit.theta, np.nan)",
        "nothing = fit.theta",
        "clicks_propensities:null_with_a_word",
    ),
    Mutant(
        "the mean propensity of a document ignores weights",
        "clicks/off_policy/weighing.py",
        'policy=(times * pl.col("alpha")).sum()',
        'policy=pl.col("alpha").sum()',
        "clicks_weights:mean_propensity",
    ),
    Mutant(
        "arms without any spread differ surely where they are equal",
        "clicks/experiments/arm_comparisons.py",
        "1.0 if effect == 0 else 0.0",
        "1.0 if effect != 0 else 0.0",
        "clicks_extremes",
    ),
    Mutant(
        "the deepest impression that is allowed is not ranked in NumPy",
        "clicks/log/contiguous.py",
        "append=len(known)).max() > DEEPEST:",
        "append=len(known)).max() >= DEEPEST:",
        "clicks_ranked_runs:deepest",
    ),
    Mutant(
        "means that differ by rounding alone are swapped",
        "comparison/systems/orders.py",
        "known.diff() > ROUNDING",
        "known.diff() > 0.0 * ROUNDING",
        "planning:rounding",
    ),
    Mutant(
        "a glance reads what it remembers twice",
        "_engine/layout.py",
        'ended.search_sorted(key, s) for s in ("left", "right")',
        'self.ended.search_sorted(key, s) for s in ("left", "right")',
        "layouts:several_threads",
    ),
    Mutant(
        "a stream counts as readable twice",
        SOURCE,
        'return (isinstance(scan, Source) and scan.rereadable) or kind == "pyarrow"',
        "return True",
        "streams",
    ),
    Mutant(
        "mixed ties are not settled",
        "_engine/stages/ties.py",
        "if mixed.is_empty():",
        "if True:",
        "layouts:last_bit frames",
    ),
    Mutant(
        "phantom rows are documents",
        "_engine/stages/rank.py",
        'document = pl.col("head").is_null()',
        "document = pl.lit(value=True)",
        "documents:own_measures",
    ),
    # -- what a grade is worth and a place weighs
    Mutant(
        "discount one place off",
        WEIGHTS,
        '"log2": lambda rank: (rank + 1.0)',
        '"log2": lambda rank: (rank + 2.0)',
        "contexts",
    ),
    Mutant(
        "exponential gain without - 1",
        WEIGHTS,
        '"exp2": lambda grade: pl.lit(2.0).pow(grade) - 1.0',
        '"exp2": lambda grade: pl.lit(2.0).pow(grade)',
        "contexts",
    ),
    Mutant(
        "a mapping of gains drops other grades",
        WEIGHTS,
        "for g, value in gains.items()), grade",
        "for g, value in gains.items()), pl.lit(0.0)",
        "contexts",
    ),
    Mutant(
        "patience begins at the second place",
        WEIGHTS,
        "pl.lit(p).pow(rank - 1.0)",
        "pl.lit(p).pow(rank)",
        "contexts",
    ),
    # -- the vocabulary
    Mutant(
        "relevant above the threshold only",
        RANKING,
        "(self.label >= max(rel, 0)).fill_null",
        "(self.label > max(rel, 0)).fill_null",
        "contexts",
    ),
    Mutant(
        "negative grades count as judged not relevant",
        RANKING,
        "((self.label >= 0) & (self.label < rel))",
        "(self.label < rel)",
        "contexts",
    ),
    Mutant(
        "cutoff one place too early",
        RANKING,
        "self.zero_below(k, (self.rank <= k).fill_null(value=False))",
        "self.zero_below(k, (self.rank < k).fill_null(value=False))",
        "contexts",
    ),
    Mutant(
        "cutoff of a weight one place too early",
        RANKING,
        "pl.when(self.rank <= k).then(f(self.rank))",
        "pl.when(self.rank < k).then(f(self.rank))",
        "contexts",
    ),
    Mutant(
        "documents break ties the other way",
        RANKING,
        '"doc_desc": ([doc], True)',
        '"doc_desc": ([doc], False)',
        "golden",
    ),
    Mutant(
        "pessimistic ties are optimistic",
        RANKING,
        '"pessimistic": ([grade, last], False)',
        '"pessimistic": ([grade, last], True)',
        "frames:test_values reference:all_metrics",
    ),
    Mutant(
        "expected ties: the first one is drawn with replacement",
        RANKING,
        "((t - r - i) / (t - i)).cum_prod()",
        "((t - r - i) / t).cum_prod()",
        "reference:expected_ties",
    ),
    Mutant(
        "expected ties: precision within a block",
        RANKING,
        "i * (r - 1.0) / (t - 1.0)",
        "i * r / t",
        "reference:expected_ties",
    ),
    Mutant(
        "expected ties: a block has one place more",
        RANKING,
        "return self._last - self._first + 1.0",
        "return self._last - self._first + 2.0",
        "reference:expected_ties",
    ),
    Mutant(
        "the user stops before he has read",
        RANKING,
        "(1.0 - stop).cum_prod().shift(1, fill_value=1.0)",
        "(1.0 - stop).cum_prod()",
        "contexts",
    ),
    Mutant(
        "a gain of one's own lacks grade 0",
        RANKING,
        "judged = self.label >= max(rel or 0, 0)",
        "judged = self.label > max(rel or 0, 0)",
        "contexts documents:own_measures reference:run_and_judgments",
    ),
    Mutant(
        "negative gains pass",
        RANKING,
        "self.forbid(judged & ~(worth >= 0), NEGATIVE_GAIN)",
        "self.forbid(judged & worth.is_nan(), NEGATIVE_GAIN)",
        "silent_faults",
    ),
    # -- formulas
    Mutant(
        "ideal of the retrieved is that of the judged",
        "metrics/gain.py",
        '"retrieved" if ideal == "retrieved" else "judged"',
        '"judged"',
        "contexts",
    ),
    Mutant(
        "ideal as long as the list, but for one",
        "metrics/gain.py",
        "r.place <= r.retrieved_count()",
        "r.place < r.retrieved_count()",
        "contexts",
    ),
    Mutant(
        "ideal order of k such documents has one more",
        "metrics/gain.py",
        "pl.int_ranges(1, depth + 1)",
        "pl.int_ranges(1, depth + 2)",
        "contexts",
    ),
    Mutant(
        "short lists are divided by k",
        "metrics/binary.py",
        "return pl.min_horizontal(depth, other)",
        "return depth",
        "contexts",
    ),
    Mutant(
        "linear stops at the largest grade",
        "metrics/cascade.py",
        "divide(grade, largest + 1.0)",
        "divide(grade, largest)",
        "contexts",
    ),
    Mutant(
        "pairs of relevant documents count",
        "metrics/pairwise.py",
        "above = ranks - hits * (hits + 1.0) / 2.0",
        "above = ranks - hits * (hits - 1.0) / 2.0",
        "contexts",
    ),
    Mutant(
        "novelty without alpha",
        "metrics/subtopic.py",
        "r.reach_probability(alpha * relevant)",
        "r.reach_probability(relevant)",
        "subtopics:by_hand",
    ),
    # -- undefined values
    Mutant(
        "undefined is 0 where it should be 1",
        REGISTRY,
        '{"zero": 0.0, "one": 1.0, "one_unweighted": 1.0}',
        '{"zero": 0.0, "one": 0.0, "one_unweighted": 0.0}',
        "properties:nothing_relevant",
    ),
    Mutant(
        "undefined for a single relevant document",
        REGISTRY,
        "pl.when(relevant > 0).then(formula)",
        "pl.when(relevant > 1).then(formula)",
        "contexts",
    ),
    Mutant(
        "a missing query has utility 0",
        REGISTRY,
        'return 0.0 if self.needs_relevant or self.aggregate == "sum" else None',
        "return 0.0",
        "frames:queries_fix",
    ),
    Mutant(
        "geometric means have no floor",
        REGISTRY,
        "defined.clip(lower_bound=SMALLEST).log()",
        "defined.log()",
        "over_queries contexts",
    ),
    # -- measures and conventions
    Mutant(
        "an alias forgets its parameters",
        "measures/names.py",
        "dict(_metric(name).aliases.get(name, {}))",
        "{}",
        "measure",
    ),
    Mutant(
        "exponential gain of ir_measures read as linear",
        "measures/text.py",
        '("dcg", "exp-log2"): ("gain", "exp2")',
        '("dcg", "exp-log2"): ("gain", "linear")',
        "measure",
    ),
    Mutant(
        "ranx's level read one too high",
        "measures/text.py",
        "body, rel = level[1], int(level[2])",
        "body, rel = level[1], int(level[2]) + 1",
        "measure",
    ),
    Mutant(
        "rows without a grade are dropped though they count",
        REGISTRY,
        'if self.depends_on == "relevant" and not (named and positive):',
        'if self.depends_on == "none":',
        "reference:run_and_judgments",
    ),
    Mutant(
        "exceptions of a convention are forgotten",
        CONVENTION,
        "return chosen | exceptions",
        "return chosen",
        "convention",
    ),
    Mutant(
        "exceptions for undefined values are forgotten",
        CONVENTION,
        "exceptions.get(metric, self.no_relevant)",
        "self.no_relevant",
        "convention",
    ),
    Mutant(
        "another tool's gain",
        "conventions",
        'TREC.replace(name="gdeval", gain="exp2")',
        'TREC.replace(name="gdeval", gain="binary")',
        "convention",
    ),
    Mutant(
        "another tool's ties",
        "conventions",
        'name="sklearn",\n            ties="expected"',
        'name="sklearn",\n            ties="optimistic"',
        "convention",
    ),
    Mutant(
        "another tool's undefined value",
        "conventions",
        '"recall": ONE,',
        "",
        "convention",
    ),
    # -- frames: ids, ranks, what is read
    Mutant(
        "small frames are streamed",
        "_engine",
        "isinstance(f, pl.DataFrame) and 0 < len(f) <= IN_MEMORY_ROWS",
        "isinstance(f, pl.LazyFrame) and 0 < len(f) <= IN_MEMORY_ROWS",
        "frames:small_frames",
    ),
    Mutant(
        "signed and unsigned ids meet in 64 bits",
        "_engine",
        "pl.Int128 if pl.UInt64 in (left, right) else pl.Int64",
        "pl.Int64",
        "frames:beyond_63_bits",
    ),
    Mutant(
        "a claim of order is believed",
        "_engine",
        "return pl.struct(given.alias(own)).struct.field(own)",
        "return given.alias(own)",
        "layouts:lying_claim",
    ),
    Mutant(
        "document ids compare as numbers",
        "_engine",
        'frame = frame.with_columns(pl.col("doc").cast(pl.String))',
        'frame = frame.with_columns(pl.col("doc"))',
        "reference:id_types",
    ),
    Mutant(
        "integer document ids settle ties as numbers",
        "_engine",
        'doc.cast(pl.String) if rows.schema["doc"].is_integer() else doc',
        "doc",
        "reference:settle_ties",
    ),
    Mutant(
        "known scores are rounded before they are compared",
        "core/words/noting.py",
        "raw_score=raw if scored else -known",
        "raw_score=known if scored else -known",
        "score_types",
    ),
    Mutant(
        "scores of text are read as numbers",
        "core/words/noting.py",
        "number = (raw + 0).cast(pl.Float64)",
        "number = raw.cast(pl.Float64)",
        "binding",
    ),
    Mutant(
        "labels of text are read as numbers",
        "core/words/noting.py",
        "(columns.label * 0.0).is_nan()",
        "(label * 0.0).is_nan()",
        "binding",
    ),
    Mutant(
        "a sum of both orders is along one of them",
        "core/words/needs.py",
        'joint = any({"ideal"} < {*columns} - {"number"} for columns in read_by)',
        "joint = False",
        "contexts",
    ),
    Mutant(
        "sums of both orders are one sum",
        "core/words/group.py",
        '"ideals" if MARK in str(value) else "sums"',
        '"sums"',
        "contexts",
    ),
    Mutant(
        "a query without relevant documents divides by 0",
        "core/expr.py",
        "(count - 1.0).cast(pl.UInt64, strict=False) + 1",
        "(count - 1.0) + 1",
        "contexts",
    ),
    Mutant(
        "differences are rounded before they are taken",
        "core/expr.py",
        "wide = value + pl.lit(0, dtype=pl.UInt32)",
        "wide = value.cast(pl.Float64)",
        "score_types",
    ),
    Mutant(
        "scores compare as they are given",
        "_engine",
        'frame = frame.with_columns(pl.col("score").cast(pl.Float32))',
        'frame = frame.with_columns(pl.col("score").cast(pl.Float64))',
        "convention:choices",
    ),
    Mutant(
        "the worst rank of a copy",
        "_engine",
        '"rank": column.min()',
        '"rank": column.max()',
        "errors:on_duplicate",
    ),
    Mutant(
        "max_rank one place too early for known ranks",
        "_engine",
        "pl.when(rank <= key.max_rank).then(rank)",
        "pl.when(rank < key.max_rank).then(rank)",
        "max_rank",
    ),
    Mutant(
        "max_rank one place too early",
        "_engine",
        '(known if key == "rank" else place) <= max_rank',
        '(known if key == "rank" else place) < max_rank',
        "max_rank",
    ),
    Mutant(
        "condensed lists keep negative grades",
        "_engine",
        'holds = pl.col("label") >= 0',
        'holds = pl.col("label").is_not_null()',
        "silent_faults",
    ),
    Mutant(
        "the last of tied documents keeps its place",
        "_engine",
        "score.eq_missing(score.shift(1)) | score.eq_missing(score.shift(-1))",
        "score.eq_missing(score.shift(-1))",
        "golden frames:test_values reference:all_metrics",
    ),
    Mutant(
        "listed queries that nobody judged are missing from the run",
        "_engine",
        "pl.concat([named, listed.select(keys)])",
        "named",
        "order_of_rules:subtopics",
    ),
    Mutant(
        "no_relevant decides before missing",
        "_engine",
        'key.qrels is not None and convention.missing == "zero"',
        "False",
        "order_of_rules:subtopics",
    ),
    Mutant(
        "gains may mix the rows of queries",
        "core",
        "return bool(same.fill_null(value=False).all())",
        "return True",
        "elementwise:mix",
    ),
    Mutant(
        "a measure of your own may have a value per document",
        "measures",
        "isinstance(ranking, Ranking) and not is_scalar(value)",
        "False",
        "elementwise:one_number",
    ),
    Mutant(
        "a command writes onto what it reads",
        "cli",
        "if _is_read(place, inputs):",
        "if False:",
        "cli_outputs:gate_keeps",
    ),
    Mutant(
        "a command writes onto links to what it reads",
        "cli",
        "any(os.path.samestat(own, other) for other in _stats(inputs))",
        "False",
        "cli_outputs:writes_onto",
    ),
    Mutant(
        "missing queries are skipped though they count",
        "_engine",
        'if request.convention.missing == "skip":\n        if request.check',
        "if True:\n        if request.check",
        "silent_faults frames:means_of_queries",
    ),
    Mutant(
        "queries that were asked for are skipped though they count",
        "_engine",
        'if request.convention.missing == "skip":\n        frame',
        "if True:\n        frame",
        "frames:queries_fix",
    ),
    # -- rules for data
    Mutant(
        "NaN scores pass",
        "_engine",
        "if score_dtype.is_float():",
        "if score_dtype.is_temporal():",
        "errors:bad_scores",
    ),
    Mutant(
        "duplicates in a log pass",
        "_engine",
        "counts.append((DUPLICATE_DOC, doc.len() - doc.n_unique()))",
        "counts.append((DUPLICATE_DOC, doc.len() - doc.len()))",
        "errors:duplicates",
    ),
    Mutant(
        "duplicates in the judgments pass",
        "_engine",
        "copies = doc.count() + doc.null_count().clip(0, 1) - doc.n_unique()",
        "copies = doc.count() - doc.count()",
        "errors:duplicates",
    ),
    Mutant(
        "a rank may be given twice",
        "_engine",
        "copies = rank.count() - rank.drop_nulls().n_unique()",
        "copies = rank.count() - rank.count()",
        "errors:bad_ranks",
    ),
    Mutant(
        "negative weights pass",
        "_engine",
        "~((given >= 0) & given.is_finite())",
        "~given.is_finite()",
        "errors:bad_ranks",
    ),
    # -- over queries
    Mutant(
        "the weight of undefined values counts",
        "core/exact/aggregate.py",
        "weight = pl.when(value.is_not_null()).then(weight)",
        "weight = weight + 0.0",
        "aggregate",
    ),
    Mutant(
        "a null value does not spread to the mean",
        "core/exact/aggregate.py",
        'pl.when(state["nulls"] == 0)',
        'pl.when(state["nulls"] >= 0)',
        "convention frames:means_of_queries",
    ),
    Mutant(
        "segments are not sorted",
        "_engine",
        "frame = frame.sort(by) if by else frame",
        "frame = frame.sort(by, descending=True) if by else frame",
        "frames:schema_order",
    ),
    # -- layouts, streams, memory
    Mutant(
        "rows together are claimed, not proved",
        "_engine",
        "if not keys.unique():",
        "if keys is None:",
        "layouts:false_claim",
    ),
    Mutant(
        "two runs of a query are one",
        "_engine",
        'found = batch.filter(pl.col("runs") > 1)',
        'found = batch.filter(pl.col("runs") > 2)',
        "layouts:false_claim",
    ),
    Mutant(
        "equal keys ascend",
        "_engine",
        "(keys.slice(1) > keys.head(len(keys) - 1)).all()",
        "(keys.slice(1) >= keys.head(len(keys) - 1)).all()",
        "layouts:come_twice",
    ),
    Mutant(
        "rows are filtered before they are cut",
        SOURCE,
        """\
            if left is not None:
                batch = batch.head(left)
                left -= batch.height
            if predicate is not None:
                batch = batch.filter(predicate)
""",
        """\
            if predicate is not None:
                batch = batch.filter(predicate)
            if left is not None:
                batch = batch.head(left)
                left -= batch.height
""",
        "sliced_results",
    ),
    Mutant(
        "a cut ends the proof",
        SOURCE,
        "if left == 0 and not self.drain:",
        "if left == 0:",
        "sliced_results:proves",
    ),
    Mutant(
        "a spent stream is read again",
        SOURCE,
        "if first != second or not first:",
        "if first != second:",
        "streams",
    ),
    Mutant(
        "the last bucket is lost",
        "_engine",
        "for b in range(buckets)",
        "for b in range(buckets - 1)",
        "memory:per_query_values",
    ),
    Mutant(
        "a manifest of fewer buckets is believed",
        "_engine/spill/resume.py",
        "if digest != _digest(text):",
        "if not digest:",
        "resume:manifest",
    ),
    Mutant(
        "a query is measured by the bytes of its rows alone",
        "_engine/spill/budget.py",
        "rows * (QUERY + width)",
        "rows * width",
        "bounded:too_large_for_the_limit",
    ),
    Mutant(
        "copies of several queries are one document",
        "_engine",
        "best = placed.group_by(*apart, *ids, maintain_order=True)",
        'best = placed.group_by("query", *ids, maintain_order=True)',
        "bounded:best_of",
    ),
    Mutant(
        "what follows a copy keeps its rank",
        "_engine",
        'return [(pl.col("rank") - (pl.col(_PLACE) - left)).cast(schema["rank"])]',
        'return [pl.col("rank").cast(schema["rank"])]',
        "copies",
    ),
    Mutant(
        "the last copy of a document counts, not the first",
        "_engine",
        'descending=place == "score", nulls_last',
        'descending=place != "score", nulls_last',
        "copies",
    ),
    Mutant(
        "a category's number stands for its text",
        "_engine",
        "pl.col(key).cast(pl.String) if is_text(schema[key]) else pl.col(key)",
        "pl.col(key)",
        "bounded:texts_meet",
    ),
    # -- subtopics, preferences, reports
    Mutant(
        "the best subtopic instead of their sum",
        "_engine",
        ".with_columns(pl.col(names).list.sum())",
        ".with_columns(pl.col(names).list.max())",
        "subtopics:by_hand",
    ),
    Mutant(
        "a document's least grade over subtopics",
        "_engine",
        'grades = qrels.group_by(*keys, "doc").agg(pl.col("label").max())',
        'grades = qrels.group_by(*keys, "doc").agg(pl.col("label").min())',
        "subtopics:best_grade",
    ),
    Mutant(
        "the greedy order takes the smallest id of equals",
        "_engine",
        '.sort("query", "doc", descending=[False, True])',
        '.sort("query", "doc", descending=[False, False])',
        "subtopics",
    ),
    Mutant(
        "evaluate keeps an option to itself",
        "evaluation/evaluate.py",
        "        weight=weight,\n        stats=stats,",
        "        weight=weight,",
        "house:options",
    ),
    Mutant(
        "a URL is read as a local file",
        "io/scan.py",
        'if "://" in text:\n        return _scan_remote',
        'if "://" not in text:\n        return _scan_remote',
        "io",
    ),
    Mutant(
        "a type of options is forgotten",
        "_engine/options.py",
        "    max_rank: int | None\n",
        "    max_ranks: int | None\n",
        "house:options",
    ),
    Mutant(
        "equal grades prefer each other",
        "evaluation/preferences.py",
        'pl.col("label") > pl.col("label_other")',
        'pl.col("label") >= pl.col("label_other")',
        "preferences",
    ),
    Mutant(
        "the smaller id of equal scores is preferred",
        "evaluation/preferences.py",
        '"doc_desc": (text > text_other)',
        '"doc_desc": (text < text_other)',
        "preferences:equal_scores",
    ),
    Mutant(
        "the report divides by all rows",
        "evaluation/match_report.py",
        "top=pl.len().clip(upper_bound=TOP)",
        "top=pl.len()",
        "match_report",
    ),
    # -- clicks
    Mutant(
        "the affine weight of a click forgets the trust",
        "clicks",
        'value = (clicked - pl.col("beta")) / clipped',
        "value = clicked / clipped",
        "clicks_counterfactual:plain_loop",
    ),
    Mutant(
        "the last click earns the credit of the first",
        "clicks",
        "(here & (at == at.min())).sum()",
        "(here & (at == at.max())).sum()",
        "clicks_interleaving:team_draft",
    ),
    Mutant(
        "a busy user pulls a ratio towards itself unseen",
        "_statistics/clusters.py",
        "(1.0 - 1.0 / n) / (1.0 - mean)",
        "n / n",
        "clicks_unequal clicks_interleaving",
    ),
    Mutant(
        "users of unequal sizes have as many degrees of freedom as users",
        "clicks/experiments/arm_comparisons.py",
        "sum(v * v / (arm.effective - 1) for v, arm in both)",
        "sum(v * v / (arm.n - 1) for v, arm in both)",
        "arms:student",
    ),
    Mutant(
        "the sign test counts impressions of a user as if they were users",
        "clicks/experiments/interleaving.py",
        "wins, losses = int((signed > 0).sum()), int((signed < 0).sum())",
        "wins, losses = int(signed.clip(0).sum()), -int(signed.clip(None, 0).sum())",
        "clicks_unequal",
    ),
    Mutant(
        "a user who comes back is another user",
        "clicks/behavior/cluster_states.py",
        'return sums(rows, [*by, "measure", "cluster"], SUMS, n)',
        'return rows.select(*by, "measure", "impressions", "cluster", *SUMS)',
        "clicks_states:come_back",
    ),
    Mutant(
        "the place of a byte in an id does not count",
        "core/exact/stable_hash.py",
        "mixed = _mixed(joined + place.astype(np.uint64) * np.uint64(256))",
        "mixed = _mixed(joined + place.astype(np.uint64) * np.uint64(0))",
        "clicks_states:hashes",
    ),
    Mutant(
        "clusters of several days are added up without a word",
        "comparison/sums/merging.py",
        'for text in texts if chosen(text, "cluster")',
        'for text in texts if chosen(text, "no such")',
        "moments:come_back",
    ),
    Mutant(
        "few clusters have the interval of many",
        "clicks",
        "few = (n < FEW) & (n > 1)",
        "few = n < 0",
        "clicks_behavior:few_clusters clicks_interleaving",
    ),
    Mutant(
        "the errors of neighboring pairs do not cancel",
        "clicks",
        "(1 if side == other else -1) * row",
        "row",
        "clicks_designs:fair_pairs",
    ),
    Mutant(
        "a search is a repetition for one moment less",
        "clicks",
        "late = (gap > seconds)",
        "late = (gap >= seconds)",
        "clicks_log",
    ),
    Mutant(
        "all pairs forget documents that nobody clicked",
        "clicks",
        'return self.estimator == "all_pairs"',
        "return False",
        "clicks_propensities:paper",
    ),
    Mutant(
        "a position that one query ties to the first has an error",
        "clicks",
        "sure &= tied.all(0)",
        "sure &= True",
        "clicks_unsure",
    ),
    Mutant(
        "the sensitivity of weighed impressions counts them",
        "clicks",
        "times * pl.col(w).cast(pl.Float64)",
        "pl.col(w).cast(pl.Float64)",
        "clicks_counterfactual:weighs",
    ),
    Mutant(
        "scores of clusters are plain sums",
        "clicks",
        "return (value / unit).round().cast(pl.Int64, strict=False)",
        "return value / unit",
        "clicks_invariance",
    ),
    # -- comparison and gate
    Mutant(
        "an adjusted p-value is below that of a smaller one",
        "comparison",
        "steps = np.maximum.accumulate((k - i + 1) * ranked)",
        "steps = (k - i + 1) * ranked",
        "compare:corrections",
    ),
    Mutant(
        "Wilcoxon's test ranks queries without a difference",
        "comparison",
        'every=zero_method != "wilcox"',
        "every=True",
        "compare",
    ),
    Mutant(
        "the BCa interval is skewed the other way",
        "comparison",
        "moved = bias + z / (1.0 - acceleration * z)",
        "moved = bias + z / (1.0 + acceleration * z)",
        "compare:bootstrap",
    ),
    Mutant(
        "intervals of few queries are not told from others",
        "comparison",
        'FEW_CHANGED | (pl.col("n") < FEW)',
        "FEW_CHANGED",
        "compare:short",
    ),
    Mutant(
        "a few queries that differ are many",
        "comparison",
        "FEW_CHANGED = CHANGED.is_between(1, 9)",
        "FEW_CHANGED = CHANGED.is_between(1, 2)",
        "compare:few",
    ),
    Mutant(
        "a drop fails as easily as it warns",
        "comparison",
        "return 1 - (1 - self.level) / stricter",
        "return self.level",
        "gate",
    ),
    Mutant(
        "a large drop warns, sure or not",
        "comparison",
        '"significant": likely,',
        '"significant": likely | large,',
        "gate",
    ),
    Mutant(
        "drops that fail are those of one check",
        "comparison",
        "(1 - standard.fail_level) / max(1, tests)",
        "(1 - standard.fail_level)",
        "gate",
    ),
    Mutant(
        "a query with an empty list has documents",
        "comparison",
        "pl.last().list.len().fill_null(0).eq(0).sum()",
        "pl.last().is_null().sum()",
        "gate",
    ),
    Mutant(
        "a report keeps warnings to itself",
        "cli",
        "own = replace(own, notes=(*said, *own.notes))",
        "own = replace(own, notes=own.notes)",
        "cli_compare",
    ),
    Mutant(
        "a sure drop within the margin fails",
        "comparison",
        '"significant": sure & large,',
        '"significant": sure,',
        "gate",
    ),
    Mutant(
        "a floor bounds a loss from below",
        "comparison",
        "pl.when(turned).then(new > floor)",
        "pl.when(turned).then(new < floor)",
        "gate",
    ),
    Mutant(
        "a pooled error is that of one mean",
        "comparison",
        "se=scale * 2.0**0.5,",
        "se=scale,",
        "result_columns",
    ),
    Mutant(
        "counts of queries wrap",
        "comparison/sums/moments.py",
        "pl.col(n).cast(pl.Int64).sum().cast(pl.UInt32)",
        "pl.col(n).sum()",
        "result_columns:large",
    ),
    Mutant(
        "a baseline that does not exist is a verdict",
        "comparison/gate/gate.py",
        "raise FileNotFoundError(str(error)) from error",
        "pass",
        "gate:exist",
    ),
    Mutant(
        "options of values are forgotten",
        "comparison/compare.py",
        "    elif options:",
        "    elif False:",
        "keywords:refused",
    ),
    Mutant(
        "products of close systems are enough",
        "comparison",
        "close |= rest < CLOSE * both",
        "close |= rest < -CLOSE * both",
        "moments",
    ),
    Mutant(
        "a bracket is not widened",
        "_statistics/noncentral.py",
        "low[outside] -= np.where(above[outside] < 0, width, 0.0)",
        "low[outside] -= 0.0",
        "noncentral",
    ),
    Mutant(
        "weights whose mean is 1 are taken for none",
        "comparison/tests/estimates.py",
        "& (dd == n)",
        "& (d == n)",
        "moments:refuse",
    ),
    Mutant(
        "a detectable difference ignores the correction",
        "comparison/tests/detectable.py",
        "return alpha / k",
        "return alpha / k**0",
        "detectable:level",
    ),
    Mutant(
        "signs have a level that no p-value attains",
        "comparison/tests/detectable.py",
        "count = np.ceil(tail * every * BELOW) - 1.0",
        "count = tail * every",
        "detectable:found detectable:draws",
    ),
    Mutant(
        "losses are shown worst first",
        "report/comparison.py",
        "descending=measure not in lower, nulls_last=True,\n                  maintain",
        "descending=True, nulls_last=True,\n                  maintain",
        "compare:shown",
    ),
    Mutant(
        "single precision settles ties",
        "comparison",
        "unknown = np.flatnonzero(found.sum(axis=0) < shape[1])",
        "unknown = np.flatnonzero(found.sum(axis=0) < 0)",
        "moments",
    ),
    # -- kept sums
    Mutant(
        "kept: names of columns decide nothing",
        "evaluation/deciding.py",
        "if name not in RESOURCES | CHOICES",
        "if name not in RESOURCES | CHOICES | COLUMNS",
        "kept_partials:definition",
    ),
    Mutant(
        "kept: checks decide nothing",
        "evaluation/deciding.py",
        'RESOURCES = {"layout", ',
        'RESOURCES = {"check", "layout", ',
        "kept_partials:definition",
    ),
    Mutant(
        "kept: a version of a measure is forgotten",
        "parts/spelling.py",
        'return f"{measure}, version {measure.definition.version}{functions}"',
        'return f"{measure}{functions}"',
        "kept_partials:changed",
    ),
    Mutant(
        "kept: a part in a table counts twice",
        "core/exact/state.py",
        "twice = whole.filter(pl.struct(*keys, DIGESTS).is_duplicated())",
        "twice = whole.head(0)",
        "kept_partials:merged_twice",
    ),
    Mutant(
        "kept: a part of a month counts twice",
        "core/exact/state.py",
        "twice = single.filter(pl.col(DIGESTS).is_duplicated())",
        "twice = single.head(0)",
        "kept_partials:merged_twice",
    ),
    Mutant(
        "kept: categories are their codes",
        "core/exact/state.py",
        "CODED = cs.categorical() | cs.enum()",
        "CODED = cs.categorical()",
        "kept_partials:digest",
    ),
    Mutant(
        "kept: a name of a part is forgotten",
        "core/exact/state.py",
        "salt = 0 if part is None else",
        "salt = 0 if part is not None else",
        "kept_partials:by_name",
    ),
    Mutant(
        "kept: queries that are not listed are forgotten",
        "parts/rows_of_parts.py",
        'if check != "off" and unlisted and keys is not None:',
        "if False:",
        "kept_partials:two_parts",
    ),
    Mutant(
        "kept: sums have no lower bound",
        "parts/damaged_partials.py",
        'for end, sign in (("least", 1.0), ("most", -1.0)):',
        'for end, sign in (("most", -1.0),):',
        "kept_partials:damage",
    ),
    Mutant(
        "kept: moments of n below 0",
        "comparison/sums/merging.py",
        "n.is_between(0, queries)",
        "(n <= queries)",
        "kept_moments:damage",
    ),
    Mutant(
        "kept: ties of moments are forgotten",
        "comparison/sums/moments.py",
        'how |= {"weight": weight, "cluster": cluster, "repeat": repeat, "tie": tie}',
        'how |= {"weight": weight, "cluster": cluster, "repeat": repeat}',
        "kept_moments:definition",
    ),
    Mutant(
        "kept: checks of click logs decide nothing",
        "clicks/behavior/kept.py",
        'UNSEEN = {"by", ',
        'UNSEEN = {"check", "by", ',
        "clicks_kept:two_kinds",
    ),
    Mutant(
        "kept: whether clusters are kept decides nothing",
        "clicks/behavior/kept.py",
        'how["keep_clusters"] = keep_clusters',
        'how["keep_clusters"] = False',
        "clicks_kept:definition",
    ),
    Mutant(
        "kept: a day of users has no content",
        "clicks/behavior/behavior.py",
        'hashed(["measure", *CLUSTER_SUMS])',
        "pl.lit(0, pl.UInt64)",
        "clicks_states:merged_twice",
    ),
    Mutant(
        "kept: covariates may be another measure",
        "clicks/experiments/merged_arms.py",
        "told = differences(there, definition, OWN)",
        'told = ""',
        "clicks_states:two_definitions",
    ),
    Mutant(
        "kept: users of several days are added up without a word",
        "clicks/behavior/kept.py",
        'any(chosen(text, "cluster")',
        'any(chosen(text, "no such")',
        "clicks_states:come_back",
    ),
    Mutant(
        "users of several periods are added up without a word",
        "comparison/systems/trend.py",
        "        warn_of_returning(parts.drop(time))\n",
        "        pass\n",
        "trend:several_periods",
    ),
    Mutant(
        "kept: a day of clicks has no content",
        "clicks/behavior/behavior.py",
        'own = hashed([*keys, *traced.parts, "n"]).sum()',
        "own = pl.lit(0, pl.UInt64)",
        "clicks_kept:merged_twice",
    ),
    # -- robustness
    Mutant(
        "the judgments as they are have no part in the bounds",
        "uncertainty/bounds/bounds.py",
        ".otherwise(furthest(c, value))",
        ".otherwise(c)",
        "bounds:limits",
    ),
    Mutant(
        "bounds of a mean are of other queries than it is",
        "uncertainty/bounds/bounds.py",
        "Mean().state(pl.when(value.is_not_null()).then(c))",
        "Mean().state(pl.col(c))",
        "bounds:limits bounds:mean_of",
    ),
    Mutant(
        "a misleading model has a weight",
        "uncertainty",
        "weight = max(0.0, float(s[0, 1] / n / denominator))",
        "weight = abs(float(s[0, 1] / n / denominator))",
        "estimate",
    ),
    Mutant(
        "the error of an estimate is its variance",
        "uncertainty",
        "return se, value - margin, value + margin",
        "return variance, value - margin, value + margin",
        "estimate:formulas",
    ),
    Mutant(
        "an audit forgets the weights of queries",
        "uncertainty",
        'frames = {"queries": queries, "weight": weight}',
        'frames = {"queries": queries}',
        "audit:weights",
    ),
    Mutant(
        "sampled documents count as all",
        "uncertainty",
        'human = pl.col("human").fill_null(0.0) / share',
        'human = pl.col("human").fill_null(0.0)',
        "estimate:sampled_documents",
    ),
    Mutant(
        "a difference is highest where it is lowest",
        "uncertainty",
        ".agg(lower=difference.min(), upper=difference.max())",
        ".agg(lower=difference.min(), upper=difference.min())",
        "bounds",
    ),
    Mutant(
        "bounds of the mean are exact if those of one query are",
        "uncertainty",
        'pl.col("exact").all(),',
        'pl.col("exact").any(),',
        "bounds",
    ),
    # -- parts
    Mutant(
        "the last query of a part is taken for whole",
        "parts",
        "for end in (first, last)",
        "for end in (first,)",
        "evaluation_in_parts:cut_anywhere",
    ),
    Mutant(
        "buckets of another number are taken for these",
        "parts",
        'digest = digest_of([frame], frame, f"{keys} {n_buckets}")',
        'digest = digest_of([frame], frame, f"{keys}")',
        "evaluation_in_parts:shuffle",
    ),
    Mutant(
        "a damaged file of a task is taken for whole",
        "parts",
        "return content if sealed(content) == found else None",
        "return content",
        "store:damaged",
    ),
    Mutant(
        "rows that were cut off are not missed",
        "parts",
        'if store.size(f"{tries}/{rows}") == sum(map(sum, lengths)):',
        "if True:",
        "store:files_are_damaged",
    ),
    Mutant(
        "pieces of a bucket begin where those before it begin",
        "parts",
        "start += length",
        "start += 0",
        "store",
    ),
    Mutant(
        "parts of several calls are taken for disjoint",
        "parts",
        "if part.bucket in seen or len(calls) > 1:",
        "if part.bucket in seen:",
        "store:proof",
    ),
    Mutant(
        "the hash of any columns proves whole queries",
        "parts",
        "return all(column in names for column in part.bucket.query)",
        "return True",
        "store:proof",
    ),
    Mutant(
        "broadcast judgments fit into any limit",
        "parts",
        "if size > room:",
        "if size > room and False:",
        "partitions:limit_that",
    ),
    Mutant(
        "all parts of moments are held at once",
        "comparison",
        "if unit not in segments:",
        "if True:",
        "moments:held_at_once",
    ),
    Mutant(
        "results of parts are those of any measure",
        "parts",
        'about = f"{evaluation!r} {evaluation.definition} {part.cut}"',
        'about = f"{part.cut}"',
        "evaluation_in_parts:not_evaluated_again",
    ),
    Mutant(
        "segments that no query has are in the result",
        "parts",
        'wide = wide.filter(pl.col("queries") > 0)',
        'wide = wide.filter(pl.col("queries") >= 0)',
        "evaluation_in_parts",
    ),
    # -- files and the command
    Mutant(
        "the reader takes the rank for the score",
        "io/lines/trec.py",
        '"rank", "score", "system")',
        '"score", "rank", "system")',
        "io",
    ),
    Mutant(
        "lines of seven fields pass",
        "io/lines/trec.py",
        'many = frame["more"].null_count() < frame.height',
        'many = frame["more"].null_count() < 0',
        "io",
    ),
    Mutant(
        "ids of a CSV are numbers",
        "io/formats.py",
        "**dict.fromkeys(_IDS, pl.String()),",
        "",
        "io",
    ),
    Mutant(
        "tabs are written as commas",
        "io/formats.py",
        "path, separator=separator, check_extension=False",
        'path, separator=",", check_extension=False',
        "io cli",
    ),
    Mutant(
        "the command rounds to three digits",
        "report/table.py",
        "digits: int = 4",
        "digits: int = 3",
        "cli",
    ),
    Mutant(
        "the command forgets an option that changes the convention",
        "cli/derive.py",
        "tuple_of(v) != usual[n]",
        "tuple_of(v) == usual[n]",
        "cli:choices",
    ),
    Mutant(
        "what the command writes may end in anything",
        "cli/derive.py",
        "ext=EXTENSIONS.get(name, ())",
        "ext=()",
        "cli_moments:errors",
    ),
    Mutant(
        "the example takes what was given",
        "cli/commands/clicks.py",
        "if self.example and n not in options}",
        "if self.example}",
        "clicks_cli_bias:alone",
    ),
    Mutant(
        "a model alone needs propensities",
        "cli/commands/clicks.py",
        'bias.given(options, shown, "dm", **usual)',
        "bias.given(options, shown, **usual)",
        "clicks_cli_bias:model",
    ),
    Mutant(
        "a label counts for both runs alike",
        "analysis",
        "stake = pl.max_horizontal(effects) - pl.min_horizontal(effects)",
        "stake = pl.max_horizontal(effects)",
        "to_judge",
    ),
    Mutant(
        "labels that favor the leader reverse the order",
        "analysis",
        "against = -moves if gap > 0 else moves",
        "against = moves if gap > 0 else -moves",
        "to_judge",
    ),
    Mutant(
        "labels do not change what others do to ndcg",
        "analysis",
        'BOUNDED = ("ndcg", "recall")',
        "BOUNDED = ()",
        "to_judge",
    ),
    Mutant(
        "what is left of a whole holds the slice, too",
        "analysis",
        '- (0.0 if name.endswith("_high") else pl.col(name))',
        "- 0.0",
        "slices",
    ),
    Mutant(
        "parts are never shown",
        "comparison",
        "if not largest_parts or measures is None:",
        "if largest_parts or measures is None:",
        "parts_of_runs",
    ),
    Mutant(
        "several rows of a query are queries",
        "analysis",
        """if row["rows"] > row["different"]:""",
        """if row["rows"] < row["different"]:""",
        "slices",
    ),
    Mutant(
        "two runs of one tag are one system",
        "cli/input/runs.py",
        "first_that_differs(tags, stems, files, folders, stems)",
        "tags",
        "cli:bare_file_name",
    ),
    Mutant(
        "draws of one item are all kept or none",
        "recommend",
        "pl.int_ranges(number).alias(number)",
        "(pl.int_ranges(number) * 0).alias(number)",
        "sampled",
    ),
    Mutant(
        "the naive number counts what thinning kept",
        "recommend",
        "measure.at(ranked.x + 1)",
        "measure.at(estimated.x + 1)",
        "sampled",
    ),
    Mutant(
        "what cannot be told has an interval",
        "recommend",
        "told = groups and estimated.negatives >= least",
        "told = groups",
        "sampled",
    ),
    Mutant(
        "lists of one user count as independent",
        "recommend",
        "spread.append(max(1.0, error / np.sqrt(once)) if once > 0 else 1.0)",
        "spread.append(1.0)",
        "sampled",
    ),
    Mutant(
        "no rank at all is likelier than the one before",
        "recommend",
        "tail = below[:, 0] > below[-1, 0] / 2",
        "tail = below[:, 0] > below[-1, 0]",
        "rank_estimators",
    ),
    Mutant(
        "negatives that are distinct are drawn independently",
        "recommend",
        "bottom = (x + 1) * (others - better - m + x + 1)",
        "bottom = (x + 1) * (others - better)",
        "rank_estimators",
    ),
    Mutant(
        "interactions above an item are those of equal items",
        "_engine/stages/recommendation/items.py",
        'first = pl.col("interactions_above").min().over("interactions")',
        'first = pl.col("interactions_above").max().over("interactions")',
        "recommendations",
    ),
    Mutant(
        "an interaction is a user",
        "_engine/stages/recommendation/items.py",
        'pl.col("new").sum()',
        "pl.len()",
        "recommendations:any_width",
    ),
    Mutant(
        "a plan without checks loses the labels of a list",
        "_engine/stages/sum.py",
        'document = [*(["doc"] if named else []), "rank", "label"]',
        'document = [*(["doc"] if named else [])]',
        "recommendations:without_checks",
    ),
    Mutant(
        "a group that the list lacks costs nothing",
        "metrics/recommendation.py",
        "divergence = (listed + 1.0 - there) / 2.0",
        "divergence = listed / 2.0",
        "recommendations",
    ),
    Mutant(
        "a category that the list lacks costs nothing",
        "metrics/recommendation.py",
        "found = diverging + (1.0 - listed).clip(0.0) * -log(alpha)",
        "found = diverging",
        "recommendations",
    ),
    Mutant(
        "what a user knows already may be recommended",
        "metrics/fairness.py",
        "t.sum(r.catalog_count(group) - r.past_item_count(group)),",
        "t.sum(r.catalog_count(group)),",
        "recommendations:totals",
    ),
    Mutant(
        "items that are not relevant are due no exposure",
        "metrics/fairness.py",
        "low = ratio(first(n) - first(m), n - m).fill_null(0.0)",
        "low = ratio(0.0 * n, n - m).fill_null(0.0)",
        "recommendations:lists_equal",
    ),
    Mutant(
        "the largest difference has the group on top",
        "metrics/fairness.py",
        "pl.max_horizontal(first, last)",
        "first",
        "recommendations:discounted",
    ),
    Mutant(
        "vectors of the past are not of length 1",
        "_engine/stages/recommendation/items.py",
        "ratio(part, length * FINEST)",
        "ratio(part, 0.0 * length + FINEST)",
        "recommendations:lists_equal",
    ),
    Mutant(
        "an item counts wholly in each of its categories",
        "core/words/recommendations.py",
        'parts["weight"] = (parts["weight"] / n).repeat_by(n)',
        'parts["weight"] = parts["weight"].repeat_by(n)',
        "recommendations:lists_equal",
    ),
    Mutant(
        "merit is that of listed items",
        "metrics/fairness.py",
        "t.sum(r.sum(r.grade * group))",
        "t.sum(r.sum(r.grade * group * r.in_top()))",
        "recommendations:totals",
    ),
    Mutant(
        "relevant items count only where the list has them",
        "_engine/stages/recommendation/rows_of_lists.py",
        'both = pl.concat([rows, lacking], how="diagonal")',
        "both = rows",
        "recommendations:totals",
    ),
    Mutant(
        "parts of two histories add up",
        "parts/about_items.py",
        "if text != first[1]:",
        "if not text:",
        "items_of_parts",
    ),
    Mutant(
        "lists of all lengths count alike for personalization",
        "core/words/recommended_items.py",
        "shares = _of_items(items, item, times / length.sqrt())",
        "shares = _of_items(items, item, times)",
        "recommendations:catalog",
    ),
    Mutant(
        "groups of users of all sizes count alike",
        "core/words/recommended_items.py",
        "factor, groups = n / m, m.len()",
        "factor, groups = 0.0 * m + m.len(), m.len()",
        "recommendations:errors_of",
    ),
)


def main() -> int:
    """Run the mutants that are asked for; 1 if one survives or has lost its text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="part of the names of mutants")
    parser.add_argument("--tier", choices=TIERS, default="quick")
    parser.add_argument("--random", type=int, metavar="N", help="draw N changes")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--covered", type=Path, help="coverage of an earlier run")
    asked = parser.parse_args()
    if asked.random:
        return sample(asked.random, asked.seed, asked.covered)
    mutants = [m for m in MUTANTS if not asked.words or named(m, asked.words)]
    lost = [m for m in mutants if len(found(m, ROOT)) != 1]
    for m in lost:
        times = len(found(m, ROOT))
        print(
            f"{m.name}: text not found exactly once in polars_rank/{m.place} "
            f"({times} times): update the mutant in tests/mutants.py\n  {m.old!r}"
        )
    mutants = [m for m in mutants if m not in lost]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        copied(copy)
        verdicts = [tried(m, copy, asked.tier) for m in mutants]
        fine = all_killed(verdicts, copy, asked.tier)
    return 0 if fine and not lost else 1


def all_killed(verdicts: Sequence[str], copy: Path, tier: str) -> bool:
    """Say how many are killed; what fails without a mutant has killed none."""
    killers = sorted({test for test in verdicts if test.startswith("tests/")})
    broken = failing(copy, *killers, tier=tier, limit=None) if killers else ""
    if broken:
        print(f"fails without any mutant: {broken}")
    print(f"{len(verdicts) - verdicts.count('')} of {len(verdicts)} killed")
    return not broken and "" not in verdicts


def sample(count: int, seed: int, covered: Path | None) -> int:
    """Try changes drawn at random; 1 if one survives.

    The quick tests run once before, to see which test covers which line, unless
    ``covered`` names the file of a run on the same code.
    """
    from random_mutants import cover, try_random

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        copied(copy)
        kept = (covered or Path(folder) / "coverage").resolve()
        if not kept.exists():
            cover(copy, kept)
        verdicts = try_random(copy, kept, count, seed, failing, written)
        return 0 if all_killed(verdicts, copy, "quick") else 1


def named(mutant: Mutant, words: Sequence[str]) -> bool:
    return any(word.lower() in mutant.name.lower() for word in words)


def copied(copy: Path) -> None:
    """Copy what the tests need."""
    copy.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)


def found(mutant: Mutant, root: Path) -> list[Path]:
    """The files with the old text, as often as they have it."""
    place = root / "polars_rank" / mutant.place
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    texts = [(path, path.read_text()) for path in files if path.exists()]
    return [path for path, text in texts for _ in range(text.count(mutant.old))]


def tried(mutant: Mutant, copy: Path, tier: str) -> str:
    """Apply the mutant, run its tests, undo it; the test that failed, or nothing."""
    (path,) = found(mutant, copy)
    text, start, test = path.read_text(), time.perf_counter(), ""
    written(path, text.replace(mutant.old, mutant.new))
    for part in mutant.tests.split():
        name, _, word = part.partition(":")
        test = test or failing(
            copy, str(file_of_tests(name, copy)), "-k", word, tier=tier
        )
    written(path, text)
    verdict = f"killed by {test}" if test else f"SURVIVED {mutant.tests}"
    print(f"{mutant.name}: {verdict} ({time.perf_counter() - start:.0f} s)", flush=True)
    return test


def file_of_tests(name: str, root: Path) -> Path:
    """The one test file of this name, in whichever folder."""
    (path,) = (root / "tests").rglob(f"test_{name}.py")
    return path.relative_to(root)


def written(path: Path, text: str) -> None:
    """Bytecode that is kept goes by whole seconds: so each version has its own."""
    path.write_text(text)
    os.utime(path, (next(SECONDS),) * 2)


def failing(copy: Path, *tests: str, tier: str, limit: float | None = LIMIT) -> str:
    """Run these tests on the copy; the first that failed, or nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-m", TIERS[tier]]
    try:
        done = subprocess.run(
            [*command, "--tb=no", "-rfE", *tests],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the limit of {limit} s"
    if done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED):  # all are slow
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout, re.MULTILINE)
    if failed is None:
        told = f"{done.stdout[-2000:]}{done.stderr}"
        raise RuntimeError(f"{' '.join(tests)}: no test failed, yet:\n{told}")
    return failed[1]


if __name__ == "__main__":
    sys.exit(main())
