"""What an interrupted evaluation left is taken up for the same work, and no other."""

from __future__ import annotations

import os
import shutil

import polars as pl
import pytest

import polars_rank as pr
from polars_rank._engine.spill import resume, source
from polars_rank._engine.spill.digest import digest_of

LOG = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2],
        "doc_id": ["a", "b", "a", "b"],
        "score": [2.0, 1.0, 2.0, 1.0],
        "place": [1, 2, 1, 2],
        "label": [1, 0, 0, 1],
        "intent": [1, 1, 2, 2],
    }
)


@pytest.fixture
def digests(monkeypatch):
    """The digests of all evaluations in bounded memory, in order."""
    found = []

    def results(spill):
        found.append(digest_of(spill.parts, spill.plan, spill.fingerprint))
        yield spill.plan.collect()

    monkeypatch.setattr(source, "results", results)
    return found


def scans(folder) -> dict[str, dict]:
    log, run, qrels = (folder / f"{name}.parquet" for name in ("log", "run", "qrels"))
    if not log.exists():
        LOG.write_parquet(log)
        LOG.drop("label", "intent").write_parquet(run)
        LOG.drop("score", "place").write_parquet(qrels)
    judged = {"frame": pl.scan_parquet(run), "qrels": pl.scan_parquet(qrels)}
    return {
        "log": {"frame": pl.scan_parquet(log)},
        "known ranks": {"frame": pl.scan_parquet(log), "rank": "place"},
        "run and judgments": judged,
        "known ranks and judgments": judged | {"rank": "place"},
        "subtopics": judged | {"subtopic": "intent", "measures": "alpha_ndcg"},
    }


NAMES = ["log", "known ranks", "run and judgments"]
NAMES += ["known ranks and judgments", "subtopics"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_work_is_recognised(tmp_path, digests, name):
    for _ in range(2):
        options = {"measures": "ap"} | scans(tmp_path)[name]
        pr.evaluate(
            **options, layout="any", memory_limit="1GB", temp_dir=tmp_path
        ).collect()
    first, second = digests
    assert first is not None
    assert first == second


def test_a_file_that_was_replaced_is_not(tmp_path, digests):
    """``cp -p``, ``rsync -a`` and ``tar`` keep size and time of modification."""
    path, other = tmp_path / "log.parquet", tmp_path / "other.parquet"
    link = tmp_path / "link.parquet"
    LOG.write_parquet(path)
    changed = LOG.with_columns(label=pl.Series([0, 1, 1, 0]))
    changed.write_parquet(other)
    link.symlink_to(path)
    status = path.stat()

    def evaluated(file):
        pr.evaluate(
            pl.scan_parquet(file),
            "ap",
            layout="any",
            memory_limit="1GB",
            temp_dir=tmp_path,
        ).collect()
        return digests[-1]

    before, through_link = evaluated(path), evaluated(link)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    link.unlink()
    link.symlink_to(other)
    assert evaluated(link) != through_link
    shutil.copyfile(other, path)  # in place: the same inode
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    in_place = evaluated(path)
    assert in_place != before
    os.replace(other, path)
    assert evaluated(path) not in (before, in_place)


def test_another_version_is_other_work(tmp_path, digests, monkeypatch):
    for version in ("0.1.0", "0.1.1"):
        monkeypatch.setattr(pr, "__version__", version)
        options = scans(tmp_path)["log"]
        pr.evaluate(
            **options,
            measures="ap",
            memory_limit="1GB",
            layout="any",
            temp_dir=tmp_path,
        ).collect()
    assert digests[0] != digests[1]


@pytest.mark.parametrize("text", ["[]", "{}", "null", "7", '""'])
def test_an_empty_manifest_says_nothing(tmp_path, text):
    (tmp_path / resume.MANIFEST).write_text(text)
    assert resume.read_manifest(tmp_path) is None
