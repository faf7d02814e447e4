"""JSON documents: what a file holds, as a frame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.files import Source, open_plain, readable
from polars_rank.io.objects.mappings import from_mapping, from_rows


def read_json(file: Source, kind: Literal["run", "qrels"]) -> pl.DataFrame:
    """Read a document: rows, or a dictionary as an evaluation takes.

    Python's own parser reads it whole; judgments are small.
    """
    with readable(file.name), open_plain(file.path) as stream:
        raw = stream.read()
    try:
        document = json.loads(raw, object_pairs_hook=_with_keys_once)
    except UnicodeDecodeError:
        raise _refused(file, "found bytes that are not UTF-8") from None
    except _KeyTwiceError as error:
        key = error.args[0]
        msg = (
            f"{file.name}: an object has the key {key!r} twice, of which parsers keep "
            "one; merge their values, or write rows"
        )
        raise DataError(msg, rule="duplicate_keys", examples=[key]) from None
    except json.JSONDecodeError as error:
        more = ", as if it had an object in each line: read it with format='ndjson'"
        told = error.msg + (more if error.msg == "Extra data" else "")
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused(file, f"no JSON at {where}: {told}") from None
    try:
        if isinstance(document, list):
            return from_rows(document, file.name)
        if isinstance(document, Mapping):
            return from_mapping(document, file.name, (), kind)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(str(error), rule="malformed_json") from error
    raise _refused(file, f"found {type(document).__name__}, expected rows or an object")


class _KeyTwiceError(Exception):
    """An object of JSON has a key twice."""


def _with_keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _KeyTwiceError(key)
            seen.add(key)
    return found


def _refused(file: Source, wrong: str) -> DataError:
    msg = f"{file.name}: {wrong}. Check that this is the file you mean."
    return DataError(msg, rule="malformed_json")
