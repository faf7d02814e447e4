"""What is measured: shapes of data, and the cases that are compared on each.

The cases of a shape are run round by round, one after the other, so that a busy
moment of the machine meets all of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from data import Files
from task import MEASURES, Task


@dataclass(frozen=True)
class Case:
    """One line of the table: a contender, its input and what is asked of it."""

    contender: str
    order: str = "contiguous"
    ids: str = "int"
    measures: int = 5
    ties: bool = False
    layout: str = "auto"
    memory_limit: str | None = None

    def input(self) -> str:
        """The case in words, without the contender."""
        if self.contender in ("nothing", "imports"):
            return ""
        words = [f"{self.order}, {self.ids} ids"]
        if self.contender == "polars_rank" and self.layout != "auto":
            words.append(f'layout="{self.layout}"')
        if self.memory_limit:
            words.append(f'memory_limit="{self.memory_limit}"')
        words += ["ties by document id"] * self.ties
        words += [f"{self.measures} measures"] * (self.measures != 5)
        return ", ".join(words).replace("1 measures", "1 measure")


@dataclass(frozen=True)
class Shape:
    """Data of one size, and the cases on it."""

    name: str
    cases: tuple[Case, ...]
    queries: int = 1
    docs: int = 1
    judged: int = 0  # documents judged a query; 0: the labels stand in the log
    parts: int = 1  # files of queries x docs rows
    repeats: int = 1  # the files listed again, with shifted ids
    in_memory: bool = False
    calls: int = 1  # warm evaluations

    @property
    def rows(self) -> int:
        return self.queries * self.docs * self.parts * self.repeats

    @property
    def title(self) -> str:
        if self.rows == 1:
            return "No data"
        queries = self.queries * self.parts * self.repeats
        size = f"{queries:,} queries x {self.docs:,}"
        if self.judged:
            size = f"run of {size}, {self.judged} judged a query"
        files = ""
        if self.parts > 1:
            files = f", {self.parts} files" + (
                f", listed {self.repeats} times with shifted ids"
                if self.repeats > 1
                else ""
            )
        return f"{self.rows:,} rows: {size}{files}" + ", in memory" * self.in_memory

    def scaled(self, by: int) -> Shape:
        """The same with fewer queries; one query gets fewer documents."""
        if self.rows <= 100_000:
            return self
        if self.queries == 1:
            return replace(self, docs=max(self.docs // by, 10))
        return replace(self, queries=max(self.queries // by, 10))

    def files(self, case: Case) -> Files:
        return Files(
            self.queries, self.docs, case.order, case.ids, self.parts, self.judged
        )

    def task(self, case: Case, paths: dict) -> Task:
        return Task(
            case.contender,
            run=tuple(paths["run"]),
            qrels=paths["qrels"],
            measures=MEASURES[case.measures],
            ties=case.ties,
            layout=case.layout,
            memory_limit=case.memory_limit,
            repeats=self.repeats,
            stride=self.queries * self.parts,
            in_memory=self.in_memory,
            calls=self.calls,
        )

    def describe(self) -> dict:
        names = ("name", "queries", "docs", "judged", "parts", "repeats")
        described = {name: asdict(self)[name] for name in names}
        return described | {"rows": self.rows, "title": self.title}


OURS = Case("polars_rank", layout="contiguous")
ANY = Case("polars_rank", order="shuffled", layout="any")
BOUNDED = Case("polars_rank", order="shuffled", memory_limit="1GB")
DEFAULT = Case("polars_rank"), Case("polars_rank", order="shuffled")
SCAN, FLOOR = Case("scan"), Case("floor")
DUCKDB, PANDAS, PYTREC_EVAL, RANX = map(
    Case, ("duckdb", "pandas", "pytrec_eval", "ranx")
)
HAND = Case("by_hand", layout="contiguous")
ANY_HAND = Case("by_hand", order="shuffled", layout="any")
NDCG = Case("polars_ds", measures=1), Case("sklearn", measures=1)
PEERS = (
    DUCKDB, PANDAS, *NDCG, PYTREC_EVAL, Case("ir_measures"), RANX, Case("torchmetrics"),
)  # fmt: skip
GROWTH = SCAN, FLOOR, OURS, ANY, BOUNDED, *PEERS
"""Measured on every size from 1 M rows to 1 G, each as far as it gets."""

MANY = Case("polars_rank", layout="contiguous", measures=30)
VARIATIONS = (
    HAND,
    ANY_HAND,
    *DEFAULT,
    replace(OURS, order="ascending"),
    replace(OURS, measures=1),
    MANY,
    replace(OURS, ids="text"),
    replace(ANY, ids="text"),
    replace(OURS, ids="text", ties=True),
    replace(DUCKDB, order="shuffled"),
    replace(DUCKDB, measures=30),
    replace(DUCKDB, ids="text", ties=True),
)
FEW = SCAN, FLOOR, OURS, ANY, DUCKDB, PANDAS
TEXT_OURS = replace(OURS, ids="text")
JUDGED = replace(TEXT_OURS, ties=True)
JUDGED_HAND = replace(HAND, ids="text", ties=True)
JOINED = Case("scan", ids="text")
TEXT_RANX = replace(RANX, ids="text")  # equal scores in no particular order
TREC_TOOLS = tuple(
    Case(name, ids="text", ties=True)
    for name in ("duckdb", "pandas", "pytrec_eval", "ir_measures")
)


def texts(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    return tuple(replace(case, ids="text") for case in cases)


NAMED = (
    Shape("process", (Case("nothing"), Case("imports")), calls=0),
    Shape("trec", texts((OURS, DEFAULT[0], *PEERS)), 50, 1000),
    Shape(
        "memory",
        (DEFAULT[0], OURS, HAND, FLOOR, *PEERS),
        50,
        1000,
        in_memory=True,
        calls=200,
    ),
    Shape("1m", (*GROWTH, MANY, replace(RANX, measures=30)), 10_000, 100),
    Shape("10m", (*GROWTH, *VARIATIONS), 100_000, 100),
    Shape("long", (*FEW, NDCG[1]), 10_000, 1000),
    Shape("short", (*FEW, NDCG[0]), 1_000_000, 10),
    Shape("one query", (*FEW, NDCG[1]), 1, 10_000_000),
    Shape("one row", FEW, 10_000_000, 1),
    Shape("judged 1m", (JOINED, JUDGED, *TREC_TOOLS, TEXT_RANX), 2_000, 500, judged=60),
    Shape(
        "judged 10m",
        (
            JOINED,
            JUDGED,
            JUDGED_HAND,
            TEXT_OURS,
            replace(ANY, ids="text", ties=True),
            *TREC_TOOLS[:2],
        ),
        20_000,
        500,
        judged=60,
    ),
    Shape("50m", GROWTH, 100_000, 100, parts=5, calls=0),
    Shape("200m", GROWTH, 100_000, 100, parts=20, calls=0),
    Shape("1g", GROWTH, 100_000, 100, parts=20, repeats=5, calls=0),
)
SHAPES = {shape.name: shape for shape in NAMED}
SIZES = ("1m", "10m", "50m", "200m", "1g")
"""The shapes along which a contender grows."""
