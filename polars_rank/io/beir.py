"""Folders of BEIR data sets: judgments, and the texts of queries and documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.scan import scan


class BeirFolder(NamedTuple):
    """A data set of BEIR, as lazy frames.

    Attributes
    ----------
    qrels
        ``query_id``, ``doc_id`` and ``label``, of one split.
    queries
        ``query_id`` and ``text``, of all splits.
    documents
        ``doc_id``, ``title`` and ``text``.
    """

    qrels: pl.LazyFrame
    queries: pl.LazyFrame
    documents: pl.LazyFrame


def scan_beir(folder: str | os.PathLike[str], *, split: str = "test") -> BeirFolder:
    """Scan the folder of a BEIR data set lazily.

    It holds ``corpus.jsonl``, ``queries.jsonl`` (either may be gzipped) and
    ``qrels/test.tsv``.

    Parameters
    ----------
    folder
        The unpacked data set.
    split
        The judgments: ``qrels/<split>.tsv``.

    Raises
    ------
    DataError
        At once, if a file is missing; when the frame is collected, if a text has no
        ``_id``.

    Examples
    --------
    >>> import pathlib, tempfile, polars as pl, polars_rank as pr
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     (folder / "qrels").mkdir()
    ...     for file, text in {
    ...         "corpus.jsonl": '{"_id": "d7", "title": "Jam", "text": "..."}',
    ...         "queries.jsonl": '{"_id": "q1", "text": "jam"}',
    ...         "qrels/test.tsv": "query-id\\tcorpus-id\\tscore\\nq1\\td7\\t1",
    ...     }.items():
    ...         _ = (folder / file).write_text(text + "\\n")
    ...     data = pr.io.scan_beir(folder)
    ...     pl.concat([data.queries, data.qrels], how="align").collect().rows()
    [('q1', 'jam', 'd7', 1.0)]
    """
    path = Path(folder)
    judged = path / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        there = ", ".join(sorted(f.stem for f in judged.parent.glob("*.tsv"))) or "none"
        raise DataError(
            f"{path}: no qrels/{split}.tsv in it, as in a BEIR data set; the splits "
            f"that are there: {there}. Name another with split=, or check the folder."
        )
    return BeirFolder(
        scan(judged, kind="qrels", format="beir"),
        _texts(path, "queries.jsonl", "query_id", ["text"]),
        _texts(path, "corpus.jsonl", "doc_id", ["title", "text"]),
    )


def _texts(folder: Path, name: str, id: str, fields: Sequence[str]) -> pl.LazyFrame:
    """Scan texts; their other fields, of any form, are not read."""
    files = [folder / name, folder / f"{name}.gz"]
    file = next((f for f in files if f.is_file()), None)
    if file is None:
        raise DataError(
            f"{folder}: no {name} in it, as in a BEIR data set. Check the folder; its "
            "judgments alone are read by scan(folder, kind='qrels')."
        )
    rows = pl.scan_ndjson(file, schema=dict.fromkeys(["_id", *fields], pl.String()))

    def named(ids: Sequence[pl.Series]) -> pl.Series:
        if count := ids[0].null_count():
            raise DataError(
                f"{file}: {count} {'line has' if count == 1 else 'lines have'} no "
                "'_id'. Give each text its id.",
                rule="text_without_id",
                count=count,
            )
        return pl.Series([True]).new_from_index(0, len(ids[0]))

    known = pl.map_batches(
        [pl.col("_id")], named, return_dtype=pl.Boolean, is_elementwise=True
    )
    return rows.filter(known).rename({"_id": id})
