"""The definition of values: version, measures, convention, judgments."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.conventions.tools import CONVENTIONS, ConventionLike, convention_of
from polars_rank.core.exact.state import defined
from polars_rank.evaluation.deciding import COLUMNS, DECIDING
from polars_rank.io import write
from polars_rank.measures.measure import Measure

KEY = "polars_rank"
BATCH = 1 << 20
SEVERAL = "; "  # between fingerprints

# Options that decide the values of queries, not only their means. Names of columns do
# not count: two systems may be compared whose scores have different names.
OPTIONS = {
    name: default
    for name, default in DECIDING.items()
    if name not in COLUMNS | {"stats", "check"}
}


@dataclass(frozen=True)
class Definition:
    """Version, measures (column and text form), convention, query, judgments, options.

    ``options`` are those of ``OPTIONS`` that were changed.
    """

    version: str
    measures: dict[str, str]
    convention: dict[str, Any]
    query: list[str]
    judgments: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        measures: Sequence[str],
        convention: ConventionLike,
        query: Sequence[str],
        judgments: str | None = None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Definition:
        """Define columns that are named after measures."""
        import polars_rank

        chosen = dataclasses.asdict(convention_of(convention))
        return cls(
            polars_rank.__version__,
            {name: _text(name) for name in measures},
            json.loads(json.dumps(chosen, default=str)),
            list(query),
            judgments,
            {
                name: options[name]
                for name, default in OPTIONS.items()
                if options.get(name, default) != default
            },
        )

    @classmethod
    def of_parts(cls, parts: Sequence[Definition | None]) -> Definition | None:
        """Define the sum of parts, with the judgments of all of them.

        None unless all parts have one.
        """
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        judged = {name for part in known for name in part.judged}
        return dataclasses.replace(
            known[-1],
            measures={n: text for part in known for n, text in part.measures.items()},
            judgments=SEVERAL.join(sorted(judged)) or None,
        )

    @property
    def judged(self) -> list[str]:
        """The fingerprints of the judgments: several, if parts were added up."""
        return self.judgments.split(SEVERAL) if self.judgments else []

    def about(self, measures: Sequence[str], query: Sequence[str]) -> Definition:
        """Restrict the definition to these columns."""
        texts = {name: self.measures.get(name, _text(name)) for name in measures}
        return dataclasses.replace(self, measures=texts, query=list(query))

    def of_sums(self, how: Mapping[str, object]) -> dict[str, str]:
        """Map columns to definitions of sums; ``how`` tells how these were made."""
        chosen = {n: v for n, v in sorted(self.convention.items()) if n != "name"}
        choices = chosen | OPTIONS | self.options | dict(how)
        return {
            column: defined("moments", {"measure": _versioned(text), **choices})
            for column, text in self.measures.items()
        }

    def by_measure(self) -> dict[str, str]:
        """Map columns to texts that are equal in two definitions of one meaning."""
        name = str(self.convention["name"])
        known = CONVENTIONS.get(name)
        own = {k: v for k, v in self.convention.items() if k != "name"}
        if known is None or Definition.of([], known, []).convention != self.convention:
            text = json.dumps(own, sort_keys=True)
            name += "#" + hashlib.sha256(text.encode()).hexdigest()[:8]
        told = "".join(f", {n}={value}" for n, value in self.options.items())
        return {c: f"{text} by {name}{told}" for c, text in self.measures.items()}

    def write(self, frame: AnyFrame, path: str | Path) -> None:
        """Write a Parquet file with the definition in its metadata, whole or not."""
        write_defined(frame, path, self)

    def metadata(self) -> dict[str, str]:
        """Return the text that a Parquet file holds."""
        return {KEY: json.dumps(dataclasses.asdict(self), sort_keys=True)}

    @classmethod
    def read(cls, path: str | Path) -> Definition | None:
        """Read the definition in a file's metadata; None if there is none."""
        if Path(path).suffix != ".parquet" or not Path(path).is_file():
            return None
        text = pl.read_parquet_metadata(path).get(KEY)
        return None if text is None else cls(**json.loads(text))


def write_defined(
    frame: AnyFrame, path: str | Path, definition: Definition | None
) -> None:
    """Write a Parquet file, with the definition in its metadata if there is one."""
    if Path(path).suffix != ".parquet":
        msg = f"{path}: the name must end in .parquet, whose metadata are used"
        raise ValueError(msg)
    write(frame, path, metadata=None if definition is None else definition.metadata())


def definition_of(values: object) -> Definition | None:
    """Read the definition that a file holds, if it is one."""
    return Definition.read(values) if isinstance(values, str | Path) else None


def _text(name: str) -> str:
    """Return a measure's own text form; of a user-defined one, its name."""
    try:
        return str(Measure.parse(name))
    except (ValueError, TypeError):
        return name


def _versioned(text: str) -> str:
    """Add the version of its definition to the text form of a measure."""
    try:
        return f"{text}, version {Measure.parse(text).definition.version}"
    except (ValueError, TypeError):
        return text


def fingerprint(qrels: AnyFrame, columns: Sequence[str]) -> str:
    """Hash judgments, in any order of rows (SHA-256), and count them."""
    rows = qrels.lazy().select(pl.col(columns).cast(pl.String)).sort(columns)
    digest = hashlib.sha256()
    table = rows.collect(engine="streaming")
    for batch in table.iter_slices(BATCH):
        digest.update(batch.write_csv(include_header=False).encode())
    return f"{digest.hexdigest()[:16]} of {len(table):,} row{'s'[: len(table) != 1]}"
