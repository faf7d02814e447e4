"""DuckDB: window functions in SQL over the Parquet files.

Only what is relevant keeps its place, so all but one window work on a small remainder.
"""

from __future__ import annotations

from task import Contender, Means, Task, split

LOG = """
    with ranked as (
      select query_id, label, row_number() over ({order}) r from {run}
    ), words as (
      select query_id, label, r,
        row_number() over (partition by query_id order by r) h,
        row_number() over (partition by query_id order by label desc) i
      from ranked where label > 0
    )"""

RUN_AND_JUDGMENTS = """
    with ranked as (
      select query_id, doc_id, row_number() over ({order}) r from {run}
    ), words as (
      select query_id, label, r,
        row_number() over (partition by query_id order by r nulls last) h,
        row_number() over (partition by query_id order by label desc) i
      from {judged} left join ranked using (query_id, doc_id) where label > 0
    )"""

MEANS = """, sums as (select {values} from words group by query_id)
    select {means} from sums,
      (select count(distinct query_id) n from {judged}) group by n"""


def contender(task: Task) -> Contender:
    import duckdb

    run = files(task.run)
    if task.repeats > 1:
        run = "(" + " union all ".join(shifted(task, i) for i in range(task.repeats))
        run += ")"
    judged = files([task.qrels]) if task.qrels else run
    ties = ", doc_id desc" if task.ties else ""

    def load() -> tuple[str, str]:
        if task.in_memory:
            duckdb.sql(f"create table run as select * from {run}")
            return "run", "run"
        return run, judged

    def evaluate(tables: tuple[str, str]) -> Means:
        text = (RUN_AND_JUDGMENTS if task.qrels else LOG) + MEANS
        query = text.format(
            run=tables[0],
            judged=tables[1],
            order=f"partition by query_id order by score desc{ties}",
            values=", ".join(f'{value(m)} "{m}"' for m in task.measures),
            means=", ".join(f'sum("{m}") / n' for m in task.measures),
        )
        found = duckdb.sql(query).fetchall()[0]
        return dict(zip(task.measures, map(float, found), strict=True))

    return load, evaluate


def files(paths) -> str:
    return "read_parquet([" + ", ".join(f"'{path}'" for path in paths) + "])"


def shifted(task: Task, i: int) -> str:
    columns = f"query_id + {i * task.stride} query_id, score, label"
    return f"select {columns} from {files(task.run)}"


def value(measure: str) -> str:
    """A measure of one query, from its relevant documents: r rank, h hits, i ideal."""
    name, k = split(measure)
    top = f"filter (where r <= {k})" if k else ""
    best = f"filter (where i <= {k})" if k else ""
    within = f"min(r) <= {k}" if k else "true"
    return {
        "ndcg": f"coalesce(sum(label / log2(r + 1)) {top}, 0)"
        f" / sum(label / log2(i + 1)) {best}",
        "ap": f"coalesce(sum(h / r) {top}, 0) / count(*)",
        "rr": f"case when {within} then coalesce(1 / min(r), 0) else 0 end",
        "precision": f"count(r) {top} / {k}",
        "recall": f"count(r) {top} / count(*)",
        "accuracy": f"case when {within} then 1 else 0 end",
    }[name]
