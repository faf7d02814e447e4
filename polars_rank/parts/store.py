"""Files of tasks, in a folder that all processes reach or in object storage.

A file appears whole or not at all. What is read back as a whole is sealed: its SHA-256
stands before it, so that a damaged file is one that is not there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from polars_rank._files.temporary import private_folder, replace_durably

SEAL = 32  # bytes


class Store(NamedTuple):
    """A folder, or a URL of storage that pyarrow opens; it pickles."""

    place: str
    remote: bool

    @classmethod
    def of(cls, place: str | PathLike[str], *, name: str) -> Store:
        """Refuse a URL that nothing here can write to, before anything is done."""
        text = fspath(place)
        if "://" not in text:
            return cls(str(Path(text).absolute()), remote=False)
        try:
            _, path = _opened(text)
        except (ImportError, ValueError) as error:
            path, reason = "", f" ({error})"
        else:
            reason = ""
        if not path.strip("/"):
            msg = (
                f"{name} must be a folder that all processes reach, or a URL of "
                "storage that pyarrow opens, such as s3://bucket/folder, gs:// or "
                f"abfs://, not {text!r}{reason}"
            )
            raise ValueError(msg)
        return cls(text, remote=True)

    def file(self, name: str) -> Path:
        """A file of a folder."""
        return Path(self.place, name)

    def names(self, folder: str) -> list[str]:
        """The files in a folder of it, which may be missing."""
        if not self.remote:
            return [f"{folder}/{path.name}" for path in self.file(folder).glob("*")]
        from pyarrow.fs import FileSelector  # type: ignore[import-untyped]

        files, root = _opened(self.place)
        below = FileSelector(f"{root}/{folder}", allow_not_found=True)
        return [f"{folder}/{info.base_name}" for info in files.get_file_info(below)]

    def size(self, name: str) -> int | None:
        """The bytes that a file has, if it is there."""
        if not self.remote:
            path = self.file(name)
            return path.stat().st_size if path.exists() else None
        files, root = _opened(self.place)
        found: int | None = files.get_file_info(f"{root}/{name}").size
        return found

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file, or some of them."""
        if not self.remote:
            with self.file(name).open("rb") as file:
                file.seek(start)
                return file.read(-1 if length is None else length)
        files, root = _opened(self.place)
        with files.open_input_file(f"{root}/{name}") as file:
            size = file.size() - start if length is None else length
            found: bytes = file.read_at(size, start)
            return found

    def unsealed(self, name: str) -> bytes | None:
        """What was sealed; None if the file is missing or damaged."""
        try:
            found = self.read(name)
        except FileNotFoundError:
            return None
        content = found[SEAL:]
        return content if sealed(content) == found else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        with self.folder() as own:
            (own / "file").write_bytes(content)
            self.put(own / "file", name)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder to write in, near enough to put its files where they belong."""
        if self.remote:
            with private_folder(Path(tempfile.gettempdir())) as own:
                yield own
            return
        # Not a private one: where locks do not reach other machines, these would take
        # it for the leftover of a process that has ended.
        own = self.file(f"work-{uuid4().hex}")
        own.mkdir(parents=True)
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def put(self, path: Path, name: str) -> None:
        """Move a file of such a folder to its place."""
        if not self.remote:
            self.file(name).parent.mkdir(parents=True, exist_ok=True)
            replace_durably(path, self.file(name))
            return
        from pyarrow.fs import LocalFileSystem, copy_files

        files, root = _opened(self.place)
        copy_files(
            str(path),
            f"{root}/{name}",
            source_filesystem=LocalFileSystem(),
            destination_filesystem=files,
        )


def sealed(content: bytes) -> bytes:
    """Put the digest of the content before it."""
    return sha256(content).digest() + content


def _opened(url: str) -> tuple[Any, str]:
    """The file system and the path in it; credentials are those of the process."""
    from pyarrow.fs import FileSystem

    files, path = FileSystem.from_uri(url)
    return files, path.rstrip("/")
