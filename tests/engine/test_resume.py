"""What an interrupted evaluation left is taken up for the same work, and no other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from faults import finish, program, small_disk

import polars_rank as pr
from polars_rank._engine.spill import bounded, resume
from polars_rank._engine.spill.buckets import Bucket
from polars_rank._engine.spill.digest import digest_of
from polars_rank.io import scan, write

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

    monkeypatch.setattr(bounded, "results", results)
    return found


def scans(folder) -> dict[str, dict]:
    log, run, qrels = (folder / f"{name}.parquet" for name in ("log", "run", "qrels"))
    if not log.exists():
        LOG.write_parquet(log)
        LOG.drop("label", "intent").write_parquet(run)
        LOG.drop("score", "place").write_parquet(qrels)
        (folder / "folder").mkdir()
        for suffix in ("arrow", "csv", "ndjson"):
            write(LOG, folder / f"log.{suffix}")
        for name in ("a", "b"):
            LOG.write_ipc(folder / "folder" / f"{name}.arrow")
        for name, row in (
            ("run.txt", "{query_id} Q0 {doc_id} 1 {score} t\n"),
            ("qrels.txt", "{query_id} 0 {doc_id} {label}\n"),
        ):
            text = "".join(row.format(**r) for r in LOG.to_dicts())
            (folder / name).write_text(text)
    judged = {"frame": pl.scan_parquet(run), "qrels": pl.scan_parquet(qrels)}
    copies = {"on_duplicate": "best"}
    return {
        "log": {"frame": pl.scan_parquet(log)},
        "known ranks": {"frame": pl.scan_parquet(log), "rank": "place"},
        "run and judgments": judged,
        "known ranks and judgments": judged | {"rank": "place"},
        "subtopics": judged | {"subtopic": "intent", "measures": "alpha_ndcg"},
        "Arrow IPC": {"frame": scan(folder / "log.arrow", kind="run")},
        "folder of Arrow IPC": {"frame": pl.scan_ipc(folder / "folder")} | copies,
        "glob of Arrow IPC": {"frame": pl.scan_ipc(folder / "folder" / "*")} | copies,
        "CSV": {"frame": scan(folder / "log.csv", kind="run")},
        "NDJSON": {"frame": scan(folder / "log.ndjson", kind="run")},
        "TREC text": {
            "frame": scan(folder / "run.txt", kind="run"),
            "qrels": scan(folder / "qrels.txt", kind="qrels"),
        },
    }


NAMES = ["log", "known ranks", "run and judgments"]
NAMES += ["known ranks and judgments", "subtopics", "CSV", "NDJSON", "TREC text"]
NAMES += [f"{place}Arrow IPC" for place in ("", "folder of ", "glob of ")]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_work_is_recognized(tmp_path, digests, name):
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


@pytest.mark.parametrize("changed", ["dev", "ino", "size", "mtime_ns", "ctime_ns"])
def test_each_property_of_a_file_counts(tmp_path, monkeypatch, changed):
    path = tmp_path / "log.parquet"
    LOG.write_parquet(path)
    plan, status, found = pl.scan_parquet(path), path.stat(), []
    for more in (0, 1):
        names = ["dev", "ino", "size", "mtime_ns", "ctime_ns", "mode"]
        values = {f"st_{name}": getattr(status, f"st_{name}") for name in names}
        values[f"st_{changed}"] += more
        with monkeypatch.context() as patch:
            forged = SimpleNamespace(**values)
            patch.setattr(Path, "stat", lambda *_, forged=forged, **__: forged)
            found.append(digest_of([plan], plan, ""))
    assert None not in found
    assert found[0] != found[1]


def test_the_real_path_of_a_file_counts(tmp_path, monkeypatch):
    """A hard link elsewhere has every other property of the file."""
    path = tmp_path / "log.parquet"
    LOG.write_parquet(path)
    plan = pl.scan_parquet(path)
    before = digest_of([plan], plan, "")
    assert before is not None
    monkeypatch.setattr(os.path, "realpath", lambda path, **_: f"/elsewhere{path}")
    assert digest_of([plan], plan, "") != before


@pytest.mark.parametrize("name", ["log.arrow", "run.txt", "folder/b.arrow"])
def test_a_changed_file_is_other_work(tmp_path, digests, name):
    kinds = {"log.arrow": "Arrow IPC", "run.txt": "TREC text"}
    for _ in range(2):
        options = scans(tmp_path)[kinds.get(name, "folder of Arrow IPC")]
        pr.evaluate(
            **options,
            measures="ap",
            layout="any",
            memory_limit="1GB",
            temp_dir=tmp_path,
        ).collect()
        os.utime(tmp_path / name)
    assert None not in digests
    assert digests[0] != digests[1]


def test_two_programs_agree_on_text(tmp_path):
    """The digest of a Python source says nothing of the process."""
    scans(tmp_path)
    code = """
from polars_rank._engine.spill.buckets import Bucket
from polars_rank._engine.spill.digest import digest_of
from polars_rank.io import scan
frame = scan(sys.argv[1], kind="run").select(key0="query_id", score="score")
print(digest_of([frame], frame, ""))
"""
    frame = scan(tmp_path / "run.txt", kind="run")
    frame = frame.select(key0="query_id", score="score")
    here, there = (
        digest_of([frame], frame, ""),
        finish(program(code, tmp_path / "run.txt")),
    )
    assert here is not None
    assert here == there.strip()


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


def _in_buckets(folder: Path) -> tuple[Path, list[Bucket]]:
    """A folder with the files of three buckets and their manifest."""
    folder.mkdir()
    files = [folder / f"{i}.parquet" for i in range(3)]
    for file in files:
        LOG.write_parquet(file)
    buckets = [Bucket(((file,),)) for file in files]
    resume.write_manifest(folder, buckets)
    return folder / resume.MANIFEST, buckets


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    manifest, buckets = _in_buckets(tmp_path / "folder")
    assert resume.read_manifest(manifest.parent) == buckets


@pytest.mark.parametrize(
    "text", ["[[]]", "[]", "{}", "null", "7", "", "[[[]]]", "\n[[]]", "[[\n"]
)
def test_a_manifest_that_says_less_says_nothing(tmp_path, text):
    """Else its queries would be all, and the others lost without a word."""
    manifest, _ = _in_buckets(tmp_path / "folder")
    manifest.write_text(text)
    assert resume.read_manifest(manifest.parent) is None


def test_a_damaged_manifest_says_nothing(tmp_path):
    """One character changed, missing or doubled, anywhere."""
    manifest, _ = _in_buckets(tmp_path / "folder")
    whole = manifest.read_text()
    for i in range(len(whole)):
        for damaged in (whole[:i] + whole[i + 1 :], whole[:i] + "9" + whole[i:]):
            manifest.write_text(damaged)
            assert resume.read_manifest(manifest.parent) is None
    manifest.write_bytes(b"\xff" + whole.encode())
    assert resume.read_manifest(manifest.parent) is None


FULL = """
import io
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from polars_rank._engine.spill.resume import write_manifest
from polars_rank.io import scan
folder = Path(sys.argv[1])
sys.stdin = SimpleNamespace(buffer=io.BytesIO(b"q Q0 d 1 1.0 t\\n" * 200_000))
(folder / "own").mkdir()
for write in (lambda: scan("-"), lambda: write_manifest(folder / "own", [])):
    try:
        write()
    except OSError as error:
        print(error)
    with suppress(OSError), open(folder / "rest", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))
"""


def test_a_full_folder_for_temporary_files_is_named(tmp_path):
    """By the copy of a pipe, and by the manifest of an evaluation."""
    with small_disk(tmp_path / "disk", 1) as folder:
        pipe, manifest = finish(program(FULL, folder, temp=folder)).splitlines()
    for told in (pipe, manifest):
        assert "no space left on this disk" in told
        assert repr(str(folder)) in told
