"""Damaged files.

Files of every format, with bits flipped, sectors zeroed, parts cut off, moved or
doubled, are evaluated in child processes. None may crash, hang or take all memory: each
ends with a result or with an error. In text, a zeroed sector or a last line cut short
must be an error; a digit that became another one cannot be told from what was written.
"""

from __future__ import annotations

import gzip
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from faults import Trial, program
from polars_rank.io import write
from polars_rank.io.formats import FORMATS

FEW, MANY = 1, 40
QUERIES, DEPTH = 40, 25
SECONDS = 240  # for all files of a format

CHILD = """
import resource
from pathlib import Path
import polars as pl
import polars_rank as pr
from polars_rank.io import scan
resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
kind, *paths = sys.argv[1:]
for path in map(Path, paths):
    print(path.name, end=" ", flush=True)
    try:
        frame = scan(path, kind=kind)
        if kind == "qrels":
            frame = frame.with_columns(score=pl.col("label"))
        elif "label" not in frame.collect_schema():
            frame = frame.with_columns(label=pl.col("score"))
        found = pr.evaluate(frame, ["num_ret"], on_duplicate="best").collect()
        print("read", found["num_ret"].item(), flush=True)
    except (ValueError, TypeError, OSError, pl.exceptions.PolarsError):
        print("refused", flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)
"""


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Damage files of a format, and let a child process evaluate them all."""
    draw = random.Random(2026)
    for name, (kind, data) in whole(folder).items():
        damaged = folder / f"damaged {name}"
        damaged.mkdir()
        for i in range(rounds * len(DAMAGES)):
            damage = list(DAMAGES)[i % len(DAMAGES)]
            file = damaged / f"{i:05}-{damage}{Path(name).suffix}"
            file.write_bytes(DAMAGES[damage](draw, data))
        text = Path(name).suffix in ("", ".csv", ".tsv")
        for file, said in told(damaged, kind).items():
            damage = Path(file).stem.partition("-")[2]
            short = damage == "cut" and is_cut(damaged / file, data)
            must = text and (short or damage == "zeroed")
            yield Trial(f"{damage}, {name}", loss(said, must_fail=must))


def whole(folder: Path) -> dict[str, tuple[str, bytes]]:
    """A file of each format, with what it holds."""
    draw = random.Random(7)
    log = pl.DataFrame(
        {
            "query_id": [f"q{i // DEPTH}" for i in range(QUERIES * DEPTH)],
            "doc_id": [f"d{draw.randrange(10**6)}" for _ in range(QUERIES * DEPTH)],
            "score": [round(draw.gauss(0, 9), 4) for _ in range(QUERIES * DEPTH)],
            "label": [draw.randrange(3) for _ in range(QUERIES * DEPTH)],
        }
    )
    files = {}
    for format in FORMATS.values():
        path = folder / f"log{format.extensions[0]}"
        write(log, path)
        files[path.name] = "run", path.read_bytes()
    rows = log.rows()
    run = "".join(f"{q} Q0 {d} 1 {s:.4f} tag\n" for q, d, s, _ in rows).encode()
    qrels = "".join(f"{q} 0 {d} {label}\n" for q, d, _, label in rows).encode()
    packed = {"run.gz": run, "log.csv.gz": files["log.csv"][1]}
    files |= {"run": ("run", run), "qrels": ("qrels", qrels)}
    return files | {name: ("run", gzip.compress(data)) for name, data in packed.items()}


def flipped(draw: random.Random, data: bytes) -> bytes:
    """One to eight bits are others."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 2, 8])):
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def zeroed(draw: random.Random, data: bytes) -> bytes:
    """A sector was never written."""
    size = min(512, len(data) // 4)
    place = draw.randrange(len(data) - size)
    return data[:place] + bytes(size) + data[place + size :]


def cut(draw: random.Random, data: bytes) -> bytes:
    """The end is missing."""
    return data[: draw.randrange(len(data) // 4, len(data))]


def moved(draw: random.Random, data: bytes) -> bytes:
    """Two sectors changed places."""
    size = min(512, len(data) // 4)
    a, b = sorted(draw.randrange(len(data) - 2 * size) for _ in range(2))
    b += size
    middle = data[a + size : b]
    return (
        data[:a] + data[b : b + size] + middle + data[a : a + size] + data[b + size :]
    )


def doubled(draw: random.Random, data: bytes) -> bytes:
    """A part was written twice."""
    a, b = sorted(draw.randrange(len(data)) for _ in range(2))
    return data[:b] + data[a:]


def ending(draw: random.Random, data: bytes) -> bytes:
    """Bytes near the end, where binary formats say what they hold, are random."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 4, 16])):
        changed[-1 - draw.randrange(min(200, len(data)))] = draw.randrange(256)
    return bytes(changed)


DAMAGES = {d.__name__: d for d in (flipped, zeroed, cut, moved, doubled, ending)}


def is_cut(path: Path, data: bytes) -> bool:
    """Whether the last line lacks a part, and not just its newline."""
    last = path.read_bytes().rpartition(b"\n")[2]
    return bool(last) and last not in data.split(b"\n")


def told(folder: Path, kind: str) -> dict[str, str]:
    """What child processes say of each file; a new one goes on after a crash."""
    said: dict[str, str] = {}
    while left := sorted(f.name for f in folder.iterdir() if f.name not in said):
        running = program(CHILD, kind, *(folder / name for name in left))
        try:
            out, _ = running.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            out, _ = running.communicate()
        for line in out.splitlines():
            file, _, what = line.partition(" ")
            said[file] = what or f"ended with {running.returncode}"
        if left[0] not in said:
            said[left[0]] = f"ended with {running.returncode}"
    return said


def loss(said: str, *, must_fail: bool) -> str:
    """What is wrong with what the child said, if anything."""
    if said.startswith("read"):
        return "read as if nothing were missing" if must_fail else ""
    return "" if said == "refused" else said
