"""Kill -9, Ctrl-C, a full disk, two at once: whole results, and nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from faults import (
    finish,
    go,
    interrupt,
    program,
    small_disk,
    was_killed,
    when_ready,
)
from polars.testing import assert_frame_equal
from slow import ENGINES, slow
from toy import lazy, toy

from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import remove_leftovers, resume_folder

ROWS, QUERIES, BUCKETS = 300_000, 5_000, 32

IMPORTS = """
import os, signal
import polars as pl
from polars_rank.io import write
from toy import lazy
"""
WRITE = """
log, out, temp_dir = sys.argv[1:]
ready()
sys.stdin.readline()
write(lazy(log, temp_dir or None), out)
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    draw = np.random.default_rng(7)
    key0 = draw.integers(0, QUERIES, ROWS)
    pl.DataFrame({"key0": key0, "score": draw.normal(size=ROWS)}).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def expected(log) -> pl.DataFrame:
    return toy([pl.scan_parquet(log)]).sort("key0").collect()


@pytest.fixture
def temp(tmp_path, monkeypatch) -> Path:
    """The system's folder for temporary files, for this process and its programs."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


class Counting:
    """``toy``, counting the buckets that it evaluates."""

    def __init__(self) -> None:
        self.buckets = -1  # the first call is for the plan of the whole

    def __call__(self, parts):
        self.buckets += 1
        return toy(parts)


def same(frame: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(frame.sort("key0"), expected)


KILLED_AT = """
log, temp_dir, stage, done = sys.argv[1:]
def progress(p):
    if p.stage == stage and p.done >= int(done):
        os.kill(os.getpid(), signal.SIGKILL)
lazy(log, temp_dir or None, progress=progress).collect()
"""


def killed_at(stage: str, done: int, log: Path, temp_dir: Path, **where) -> None:
    """Run a program that is killed when it reports this progress."""
    code = IMPORTS + KILLED_AT
    assert was_killed(program(code, log, temp_dir, stage, done, **where))


@pytest.mark.slow
def test_what_was_done_is_not_done_again(log, expected, tmp_path):
    killed_at("evaluate", 20, log, tmp_path)
    work, told = Counting(), []
    result = lazy(log, tmp_path, evaluate=work, progress=told.append)
    same(result.collect(), expected)
    assert work.buckets == BUCKETS - 20
    assert {p.stage for p in told} == {"evaluate"}
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_killed_again_and_again(log, expected, tmp_path):
    for done in (5, 12, 31):
        killed_at("evaluate", done, log, tmp_path)
    work = Counting()
    same(lazy(log, tmp_path, evaluate=work).collect(), expected)
    assert work.buckets == BUCKETS - 31
    assert not list(tmp_path.iterdir())


def other_version(monkeypatch, path, work):
    monkeypatch.setattr(pl, "__version__", "99.0")


def other_file(monkeypatch, path, work):
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def other_plan(monkeypatch, path, work):
    count = Counting.__call__

    def more(self, parts):
        return count(self, parts).with_columns(more=pl.lit(1))

    monkeypatch.setattr(Counting, "__call__", more)


def no_locks(monkeypatch, path, work):
    monkeypatch.setattr("polars_rank._files.temporary.fcntl", None)


CHANGES = [
    other_file,
    *map(slow, ("half", other_version, other_plan, no_locks, "fingerprint")),
]


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: getattr(c, "__name__", c))
def test_anything_else_begins_anew(log, expected, tmp_path, monkeypatch, change):
    path, folder, work = tmp_path / "log.parquet", tmp_path / "temp", Counting()
    path.write_bytes(log.read_bytes())
    folder.mkdir()
    killed_at("evaluate", 20, path, folder)
    (left,) = folder.iterdir()
    fingerprint = "other" if change == "fingerprint" else "toy"
    if change == "half":  # a bucket that was cut short
        (left / "0" / "bucket=25" / "00000000.parquet").write_bytes(b"PAR1")
    elif callable(change):
        change(monkeypatch, path, work)
    result = lazy(path, folder, evaluate=work, fingerprint=fingerprint).collect()
    same(result.select(expected.columns), expected)
    assert work.buckets == BUCKETS
    found = list(folder.iterdir())  # what cannot be used stays for those who can
    assert found == ([] if change == "half" else [left])


@pytest.mark.slow
def test_killed_before_all_rows_have_a_bucket(log, expected, tmp_path):
    killed_at("partition", 100_000, log, tmp_path)
    assert list(tmp_path.iterdir())
    work = Counting()
    same(lazy(log, tmp_path, evaluate=work).collect(), expected)
    assert work.buckets == BUCKETS
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("stage", "resume"),
    [slow("partition", False), slow("evaluate", False), ("evaluate", True)],
    ids=["partition", "evaluate", "temp_dir"],
)
def test_ctrl_c(log, temp, engine, stage, resume):
    code = """
log, temp_dir, stage, engine = sys.argv[1:]
import time
def progress(p):
    if p.stage == stage and p.done > 3 and not told:
        told.append(p)
        ready()
        time.sleep(0.2)
told = []
lazy(log, temp_dir or None, progress=progress).collect(engine=engine)
print("came to its end")
"""
    arguments = [log, temp if resume else "", stage, engine]
    running = when_ready(program(IMPORTS + code, *arguments, temp=temp))
    assert list(temp.iterdir())
    code, err = interrupt(running)
    assert code in (-signal.SIGINT, 128 + signal.SIGINT)  # and no SIGABRT
    assert "KeyboardInterrupt" in err
    assert not list(temp.iterdir())


TOLD_TO_END = """
log, temp_dir, stage, clean = sys.argv[1:]
import time
from polars_rank.io import clean_on_signals
if clean:
    clean_on_signals()
def progress(p):
    if p.stage == stage and p.done > 3 and not told:
        told.append(p)
        ready()
        time.sleep(0.3)
told = []
lazy(log, temp_dir or None, progress=progress).collect()
print("came to its end")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, slow(signal.SIGHUP)])
@pytest.mark.parametrize("stage", [slow("partition"), "evaluate"])
@pytest.mark.parametrize("resume", [slow(False), True], ids=["private", "temp_dir"])
def test_told_to_end(log, temp, number, stage, resume):
    """Polars is at work in the main thread, which sees no signal until it is done."""
    arguments = [log, temp if resume else "", stage, "clean"]
    running = when_ready(program(IMPORTS + TOLD_TO_END, *arguments, temp=temp))
    (left,) = temp.iterdir()
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert not out
    assert list(temp.iterdir()) == ([left] if resume else [])


BORN_OR_GONE = """
import os, time
from pathlib import Path
from polars_rank._files import temporary
from polars_rank.io import clean_on_signals
clean_on_signals()
base, stage = Path(sys.argv[1]), sys.argv[2]
def renamed(*names, real=Path.rename):
    real(*names)
    ready()
    time.sleep(1)
def locked(*_):
    ready()
    time.sleep(60)
if stage == "made":
    temporary._lock = locked
    temporary.make_folder(base)
folder = temporary.resume_folder(base, "0" * 32)
(folder.path / "rows").write_text("rows")
if stage == "removed":
    Path.rename = renamed
    folder.remove()
os.utime(folder.path, (0, 0))
os.close(folder._handle)
temporary._live.clear()
Path.rename = renamed
temporary.remove_leftovers(base)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["made", slow("removed"), "swept"])
def test_told_to_end_while_a_folder_comes_or_goes(temp, stage):
    """A moment in which it is neither there nor gone; most of these are short."""
    running = when_ready(program(BORN_OR_GONE, temp, stage, temp=temp))
    assert len(list(temp.iterdir())) == 1
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert not list(temp.iterdir())


def test_a_folder_that_goes_leaves_its_name_to_another_evaluation(
    tmp_path, monkeypatch
):
    """The other one comes when the lock is gone and the folder is not yet."""
    folder, others = resume_folder(tmp_path, "0" * 32), []

    def rmdir(path, real=Path.rmdir):
        if not others:
            others.append(resume_folder(tmp_path, "0" * 32))
            (others[0].path / "rows").write_text("of another")
        real(path)

    monkeypatch.setattr(Path, "rmdir", rmdir)
    folder.remove()
    (other,) = others
    assert (other.path / "rows").read_text() == "of another"
    other.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_signals_of_the_program_are_left_to_it():
    code = """
import os, signal, time
from polars_rank.io import clean_on_signals
mine = lambda *_: print("mine", flush=True)
signal.signal(signal.SIGTERM, mine)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
clean_on_signals()
os.kill(os.getpid(), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGHUP)
time.sleep(0.1)
print(signal.getsignal(signal.SIGTERM) is mine)
"""
    assert finish(program(code)) == "mine\nTrue\n"


@pytest.mark.slow
def test_a_child_process_ends_alone():
    code = """
import os, signal, time
from polars_rank.io import clean_on_signals
clean_on_signals()
child = os.fork()
if not child:
    time.sleep(60)
os.kill(child, signal.SIGTERM)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
time.sleep(0.2)
print("alive")
"""
    assert finish(program(code)) == f"{signal.SIGTERM:d}\nalive\n"


@pytest.mark.slow
def test_another_evaluation_deletes_nothing_of_the_killed(log, expected, tmp_path):
    killed_at("evaluate", 20, log, tmp_path)
    (left,) = tmp_path.iterdir()
    for temp_dir in (tmp_path, None):
        same(lazy(log, temp_dir, fingerprint="other").collect(), expected)
        assert list(tmp_path.iterdir()) == [left]
    week_ago = time.time() - 8 * 24 * 3600
    os.utime(left, (week_ago, week_ago))
    same(lazy(log, tmp_path, fingerprint="other").collect(), expected)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inside"),
    [
        (".polars-rank-mine", "lock"),
        (".polars-rank-abcdefgh", "data.txt"),
        (f".polars-rank-{'0' * 32}", "lock"),
        slow(".polars-rank-mine", "data.txt"),
        slow(".polars-rank-abcdefgh", "lock"),
        slow(f".polars-rank-{'0' * 32}", "data.txt"),
    ],
)
def test_folders_of_the_user_are_not_touched(log, expected, tmp_path, name, inside):
    mine = tmp_path / name / inside
    mine.parent.mkdir()
    mine.write_text("mine")
    os.utime(mine.parent, (0, 0))
    same(lazy(log, tmp_path).collect(), expected)
    assert mine.read_text() == "mine"
    assert list(mine.parent.iterdir()) == [mine]


def test_an_empty_folder_of_the_user_is_not_touched(tmp_path):
    for name in ("mine", "mine.gone", "12345678-of-mine"):
        (tmp_path / f".polars-rank-{name}").mkdir()
    remove_leftovers(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_the_disk_is_too_small(log, tmp_path):
    with small_disk(tmp_path / "disk", 2) as folder:
        with pytest.raises(OSError, match=r"about 5 MB, but 2 MB are free") as caught:
            lazy(log, folder).collect()
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(folder)
        assert "temp_dir=" in str(caught.value)
        assert not list(folder.iterdir())


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_disk_fills_up(log, tmp_path, monkeypatch, engine):
    monkeypatch.setattr("polars_rank._engine.spill.work.require_space", lambda *_: None)
    with small_disk(tmp_path / "disk", 2) as folder:
        with pytest.raises(OSError, match="no space left") as caught:
            lazy(log, folder).collect(engine=engine)
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(folder)
        assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no space left on this disk"),
        (errno.EDQUOT, "your share of this disk is used up"),
        (errno.EFBIG, "a file would be larger than is allowed here"),
    ],
)
@pytest.mark.parametrize("raised", [OSError, pl.exceptions.ComputeError])
def test_what_cannot_be_written_is_named(tmp_path, number, said, raised):
    words = (
        (number, "as the system") if raised is OSError else (f"(os error {number})",)
    )
    with pytest.raises(OSError, match=said) as caught, full_disk(tmp_path / "out.csv"):
        raise raised(*words)
    assert caught.value.errno == number
    assert caught.value.filename == str(tmp_path / "out.csv")


FULL_AT_ANY_BYTE = """
import resource
from pathlib import Path
import polars as pl
from polars_rank._files.errors import full_disk
rows = pl.LazyFrame({"a": range(2000), "b": map(str, range(2000))})
path = Path(sys.argv[1])
ready()
for size in range(100, 40_000, 97):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        with full_disk(path):
            rows.sink_parquet(path, row_group_size=100, compression="uncompressed")
    except OSError as error:
        assert error.filename == str(path), error
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
"""


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_byte_is_named(tmp_path):
    """In a page, in its header or in the end of the file."""
    finish(when_ready(program(FULL_AT_ANY_BYTE, tmp_path / "rows.parquet")))


@pytest.mark.slow
@pytest.mark.parametrize("resume", [slow(False), True], ids=["private", "temp_dir"])
def test_two_at_once_in_one_process(log, expected, temp, resume):
    """The same frame, the same folder; each evaluates all by itself."""
    frames = [lazy(log, temp if resume else None)] * 3
    with ThreadPoolExecutor(3) as pool:
        for result in pool.map(pl.LazyFrame.collect, frames):
            same(result, expected)
    assert not list(temp.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("resume", [False, True], ids=["private", "temp_dir"])
def test_two_at_once_in_two_processes(log, expected, temp, tmp_path, resume):
    outs = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    temp_dir = temp if resume else ""
    both = [program(IMPORTS + WRITE, log, out, temp_dir, temp=temp) for out in outs]
    for running in map(when_ready, both):
        go(running)
    for out, running in zip(outs, both, strict=True):
        finish(running)
        same(pl.read_parquet(out), expected)
    assert not list(temp.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("resume", [False, True], ids=["private", "temp_dir"])
def test_folders_of_the_living_stay(log, expected, temp, resume):
    """A program stops in the midst of its work while others come and go."""
    code = """
log, temp_dir = sys.argv[1:]
def progress(p):
    if p.stage == "evaluate" and (p.done, p.part) == (10, 0.0):
        ready()
        sys.stdin.readline()
print(lazy(log, temp_dir or None, progress=progress).collect().height)
"""
    temp_dir = temp if resume else ""
    running = when_ready(program(IMPORTS + code, log, temp_dir, temp=temp))
    (alive,) = temp.iterdir()
    killed_at("evaluate", 3, log, "", temp=temp)
    killed_at("evaluate", 3, log, temp_dir, temp=temp)
    work = Counting()
    same(lazy(log, temp_dir or None, evaluate=work).collect(), expected)
    assert work.buckets == BUCKETS
    assert list(temp.iterdir()) == [alive]
    assert finish(running, "go on").strip() == str(expected.height)
    assert not list(temp.iterdir())
