"""Local files: finding them, telling them apart by their first bytes."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import make_folder, remove_leftovers
from polars_rank.exceptions import DataError
from polars_rank.io.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator


_GZIP = b"\x1f\x8b"
_MAGIC = {row.magic: row.name for row in FORMATS.values() if row.magic} | {
    b"PARE": "encrypted Parquet",
    b"\xff\xff\xff\xff": "an Arrow IPC stream",
    b"FEA1": "Feather version 1",
    _GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh91AY": "bzip2",
    b"PK\x03\x04": "zip",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


_SPOOLED: dict[Path, str] = {}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that exists and is not empty, and its name in messages."""

    path: Path
    name: str
    spooled: bool = False

    def head(self) -> bytes:
        """Return the first bytes, decompressed where they are gzip."""
        with readable(self.name), open_plain(self.path) as file:
            head = file.read(1 << 16)
        if not head.removeprefix(b"\xef\xbb\xbf"):
            raise DataError(f"{self.name}: the file is empty once unpacked.")
        return head


def magic(head: bytes) -> str | None:
    """Name the binary format that the first bytes announce, if any."""
    return next((name for mark, name in _MAGIC.items() if head.startswith(mark)), None)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Report under a file's name that it cannot be read or unpacked."""
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"{name}: cannot be read: {error}. "
            "Check the permissions, or fetch the file again."
        ) from error


def open_plain(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, through gzip where its first bytes say so."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    if not packed:
        return path.open("rb")
    import gzip

    return cast("IO[bytes]", gzip.open(path))


def locate(path: str | Path) -> Source:
    """Check that a file exists and is not empty; ``-`` is standard input."""
    if os.fspath(path) == "-":
        if sys.stdin is None:
            raise DataError("standard input: closed. Give the name of a file.")
        return _spool(sys.stdin.buffer, "standard input")
    path = Path(path)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DataError(
            f"{path}: no such file (looked from {Path.cwd()}). Check the path."
        ) from error
    if stat.S_ISDIR(status.st_mode):
        raise DataError(f"{path}: a folder where one file is expected.")
    if not stat.S_ISREG(status.st_mode):  # a pipe: it can be read only once
        with path.open("rb") as stream:
            return _spool(stream, str(path))
    if status.st_size == 0:
        raise DataError(f"{path}: the file is empty (0 bytes).")
    return Source(path, str(path))


def _spool(stream: IO[bytes], name: str) -> Source:
    """Copy a stream to a file in a private folder, removed when the process ends."""
    import shutil
    import tempfile

    base = Path(tempfile.gettempdir())
    remove_leftovers(base)
    path = make_folder(base).path / "input"
    with full_disk(base, "set TMPDIR to a larger one"), path.open("wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    if path.stat().st_size == 0:
        raise DataError(f"{name}: empty (0 bytes). A pipe can be read only once.")
    _SPOOLED[path] = name
    return Source(path, name, spooled=True)


def given_name(path: Path) -> str:
    """Name of a file in messages; standard input is copied to a file."""
    return _SPOOLED.get(path, str(path))
