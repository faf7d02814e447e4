"""Crash-safe temporary folders, and files that appear complete.

A folder belongs to this package if its name has the form and its file ``lock`` the mark
of one; a user's folder of a similar name is never touched. It belongs to the process
that holds the lock. If the lock is free, the process has ended, and the next run
removes the folder: a private one at once, and one that an evaluation can be resumed
from after a week. Where files cannot be locked, folders of ended processes stay until
the user removes them.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - no such module outside of POSIX
    fcntl = None  # type: ignore[assignment]


PREFIX = ".polars-rank-"
GONE = ".gone"
PRIVATE = re.compile(rf"{re.escape(PREFIX)}(\w{{8}}|[0-9a-f]{{16}}{re.escape(GONE)})")
RESUMABLE = re.compile(rf"{re.escape(PREFIX)}[0-9a-f]{{32}}")
LOCK, MARK = "lock", b"polars_rank: temporary files\n"
WEEK = 7 * 24 * 3600  # seconds
TRIES = 10
PATIENCE, PAUSE, QUIET = 10.0, 0.002, 50  # seconds, seconds, pauses


class Folder:
    """A folder for this process alone, until it is removed."""

    def __init__(self, path: Path, handle: int | None, *, kept: bool) -> None:
        """Name the folder; ``kept``: a process that does the same finds it again.

        The object exists before the folder, so it is removed whenever the process ends.
        """
        self.path = path
        self.kept = kept
        self._handle = handle
        self._process = os.getpid()
        self._removing = threading.Lock()
        _live.add(self)

    def remove(self) -> None:
        """Remove it with everything inside; do nothing if it is gone.

        A thread of its own does the work, since Ctrl-C interrupts only the main thread.
        """
        if self not in _live or os.getpid() != self._process:
            return
        worker = threading.Thread(target=self._remove)
        try:
            worker.start()
        except RuntimeError:  # the interpreter is going down
            self._remove()
            return
        interrupt = None
        while worker.is_alive():
            try:
                worker.join()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def make(self) -> bool:
        """Make and lock the folder; return whether that succeeded."""
        try:
            self.path.mkdir(mode=0o700)
            self._handle = _lock(self.path)
        except (BlockingIOError, FileExistsError, FileNotFoundError):
            self.discard()
            if not self.path.parent.is_dir():
                raise
            return False  # the name is taken, or it was swept away while it was born
        except OSError:
            if not self.path.is_dir():
                self.discard()
                raise
        return True  # without a lock where this file system has none

    def clear(self) -> None:
        """Remove everything inside."""
        _clear(self.path)

    def _remove(self) -> None:
        with self._removing:
            if self not in _live:
                return
            name = self.path
            if self.kept:
                self._give_up_name()
            _remove_tree(self.path)
            self.discard()
            while name != self.path and _removed_if_free(name):
                time.sleep(PAUSE)  # a writer may make the folder anew

    def _give_up_name(self) -> None:
        """Take a name that nobody looks for; another process may take the old one."""
        name, self.path, self.kept = self.path, _gone_name(self.path), False
        try:
            name.rename(self.path)
        except OSError:
            self.path = name

    def discard(self) -> None:
        """Release the folder for other processes."""
        if self._handle is not None:
            os.close(self._handle)
        _live.discard(self)


_live: set[Folder] = set()
_births = threading.RLock()


def _forked() -> None:
    global _births
    _births = threading.RLock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def remove_live(*, kept: bool = True) -> None:
    """Remove the folders of this process; ``kept``: all of them."""
    for folder in list(_live):
        if kept or not folder.kept:
            folder.remove()


def end_live() -> None:
    """Remove the folders of this process that cannot resume, while it still writes.

    Writers recreate a folder until they notice that it is gone, so it is removed for a
    while. No other folder is made from now on.
    """
    _births.acquire(timeout=PATIENCE / 10)
    paths = [folder.path for folder in list(_live) if not folder.kept]
    remove_live(kept=False)
    quiet, until = 0, time.monotonic() + PATIENCE
    while paths and quiet < QUIET and time.monotonic() < until:
        back = [path for path in paths if path.exists()]
        for path in back:
            _remove_tree(path)
        quiet = 0 if back else quiet + 1
        time.sleep(PAUSE)


def make_folder(base: Path) -> Folder:
    """Make a private folder in ``base``."""
    for _ in range(TRIES):
        with _births:
            folder = Folder(base / f"{PREFIX}{os.urandom(4).hex()}", None, kept=False)
            if folder.make():
                return folder
    msg = f"no temporary folder could be made in {base}: others remove it at once"
    raise OSError(msg)


@contextmanager
def private_folder(base: Path) -> Iterator[Path]:
    """Make a folder in ``base`` for the block; remove those of ended processes."""
    remove_leftovers(base)
    folder = make_folder(base)
    try:
        yield folder.path
    finally:
        try:
            folder.remove()
        finally:  # Ctrl-C can be reported twice: by Polars, then by Python
            folder.remove()


def resume_folder(base: Path, digest: str) -> Folder | None:
    """Take over or make the folder in ``base`` that belongs to this evaluation.

    None if another process is working in it, or if that cannot be known.
    """
    path = base / f"{PREFIX}{digest}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(path):
            return None
        handle = _lock(path)
    except OSError:
        return None
    return None if handle is None else Folder(path, handle, kept=True)


def remove_leftovers(base: Path, keep: str | None = None) -> None:
    """Remove the folders of ended processes from ``base``, except that of ``keep``.

    Folders from which an evaluation can resume are kept for a week.
    """
    for path in base.glob(f"{PREFIX}*"):
        try:
            leftover = path.name != f"{PREFIX}{keep}" and _is_leftover(path)
        except OSError:  # it is gone
            continue
        if leftover:
            _removed_if_free(path)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file that appears at ``path`` complete, or not at all."""
    hidden = path.with_name(f"{path.name}.part")
    write(hidden)
    replace_durably(hidden, path)


def replace_durably(hidden: Path, path: Path) -> None:
    """Replace ``path`` with a complete file, durably on disk."""
    _to_disk(hidden, os.O_RDWR)
    os.replace(hidden, path)
    if os.name == "posix":
        _to_disk(path.parent, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _removed_if_free(path: Path) -> bool:
    """Remove a folder unless a process works in it; whether it was there and free."""
    try:
        handle = _lock(path)
    except OSError:  # in use, gone, not ours, or no way to tell
        return False
    if handle is None:
        return False
    folder = Folder(_gone_name(path), handle, kept=False)
    try:
        path.rename(folder.path)  # nobody can take it over any more
    except OSError:
        folder.discard()
        return False
    folder.remove()
    return True


def _gone_name(path: Path) -> Path:
    return path.with_name(f"{PREFIX}{os.urandom(8).hex()}{GONE}")


def _is_leftover(path: Path) -> bool:
    """Return whether it may be removed if no process works in it."""
    if not _is_ours(path):
        return False
    if RESUMABLE.fullmatch(path.name):
        return time.time() - path.stat().st_mtime > WEEK
    return PRIVATE.fullmatch(path.name) is not None


def _is_ours(path: Path) -> bool:
    """Return whether this package made it: it has the mark, or nothing in it yet."""
    status = path.lstat()
    owner = os.getuid() if hasattr(os, "getuid") else status.st_uid
    if path.is_symlink() or not path.is_dir() or status.st_uid != owner:
        return False
    try:
        mark = (path / LOCK).read_bytes()
    except FileNotFoundError:
        mark = b""
    return mark == MARK or (not mark and {p.name for p in path.iterdir()} <= {LOCK})


def _lock(path: Path) -> int | None:
    """Hold the folder's lock; its handle, or None where there are no locks.

    Raises ``BlockingIOError`` if another holds it, ``FileNotFoundError`` if the folder
    was removed meanwhile.
    """
    if fcntl is None:
        return None
    lock = path / LOCK
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another process may have removed the folder, and a third made it anew, since
        # the file was opened: the lock on a file that is gone protects nothing.
        if lock.stat().st_ino != os.fstat(handle).st_ino:
            raise FileNotFoundError(lock)
        if not os.fstat(handle).st_size:
            os.write(handle, MARK)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _remove_tree(path: Path) -> None:
    """Remove a folder, repeatedly while files still appear in it.

    The lock goes last: until then the folder can be recognized.
    """
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            _clear(path)
            (path / LOCK).unlink(missing_ok=True)
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            pass
        time.sleep(PAUSE)  # then look once more: a writer may make the folder anew


def _clear(path: Path) -> None:
    for inside in path.iterdir():
        if inside.is_dir() and not inside.is_symlink():
            shutil.rmtree(inside, ignore_errors=True)
        elif inside.name != LOCK:
            inside.unlink(missing_ok=True)
