"""Write search.parquet from the rows below: ``python -m polars_rank.example.make``.

A search log of a shop. A line is a product, the score the ranker gave it, and the
grade a shopper's behavior gave it: 0 ignored, 1 clicked, 2 put in the basket, 3
bought; ``-`` is not judged. One query has a tie, one list has nothing relevant.
"""

from __future__ import annotations

import polars as pl

from polars_rank.example import path

LOG = """
waterproof jacket, DE
B07X2JKT01 12.9 2
B07X2JKT07 12.4 3
B08R5PNC11 11.8 0
B09T1SHL40 11.8 1
B07X2JKT03 10.2 0
B0B7RAIN22  9.7 3
B08UMBR314  8.8 -
B09GLOV505  7.1 0

usb c cable 2m, US
B01CABL2M4 15.3 3
B08CABL1M2 14.9 1
B01CABL2M9 14.8 3
B07HUB4P15 12.0 0
B09CHRG65W 11.6 1
B01CABLA88 10.9 0
B08ADPT210  9.5 0
B0ACABL3M3  9.1 2

trail running shoes, US
B09TRL1001 13.7 0
B09TRL1004 13.1 1
B08ROAD777 12.6 0
B09TRL1010 12.2 3
B07SOCK3PK 11.0 -
B09TRL1022 10.8 2
B08HIKE450 10.1 0
B0AGAITR12  8.3 1

coffee grinder, DE
B06GRNDM01 14.2 0
B06GRNDE05 13.9 0
B08BEAN1KG 13.5 0
B07SCALE20 12.7 0
B09FILT100 11.9 0
B06GRNDM08 11.2 3
B08MOKA6C1 10.4 0
B07TAMP580  9.0 -

left handed scissors, FR
B05SCIS210  9.9 0
B05SCIS215  9.4 0
B08PAPR500  8.8 0
B07GLUE040  8.1 -
B09RULR300  7.7 0
B05KNIF118  7.2 0
B08CARD220  6.5 -
B07PENC012  6.1 0
"""


def log() -> pl.DataFrame:
    """Turn the text above into a frame, one row per product."""
    rows = []
    for block in LOG.strip().split("\n\n"):
        title, *products = block.splitlines()
        query, country = title.split(", ")
        for product in products:
            doc, score, grade = product.split()
            label = None if grade == "-" else int(grade)
            rows.append((query, doc, float(score), label, country))
    schema = {
        "query_id": pl.String,
        "doc_id": pl.String,
        "score": pl.Float64,
        "label": pl.Int64,
        "country": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


if __name__ == "__main__":
    log().write_parquet(path())
