"""The smallest engine: lists of frames, in one process. Jobs and states are pickled."""

from __future__ import annotations

import pickle

import polars as pl

from polars_rank.parts.engine.engine import Engine


class Pieces(list):
    """A frame in partitions."""

    @classmethod
    def of(cls, frame, count=3):
        return cls(frame[i::count] for i in range(count))


class InPieces(Engine):
    def map(self, function, items):
        copy = pickle.loads(pickle.dumps(function))
        return [copy(item) for item in items]

    def frame(self):
        return Pieces

    def names(self, frame):
        return frame[0].columns

    def schema(self, frame, names):
        return frame[0].select(names).schema

    def lift(self, rows, beside):
        return Pieces([rows])

    def partition(self, job, frames, partitions):
        tagged = [
            pl.DataFrame(job.tag(piece.to_arrow(), side))
            for side, frame in frames.items()
            for piece in frame
        ]
        if job.partitioned:
            return tagged
        rows, count = pl.concat(tagged), partitions or len(tagged)
        place = pl.Series([hash(key) % count for key in rows.select(job.keys).rows()])
        return [rows.filter(place == i) for i in range(count)]

    def states(self, job, rows):
        copy = pickle.loads(pickle.dumps(job))
        return [copy.state_of(iter(piece.to_arrow().to_batches())) for piece in rows]

    def values(self, job, rows):
        copy = pickle.loads(pickle.dumps(job))
        return Pieces(copy.values_of(iter(p.to_arrow().to_batches())) for p in rows)
