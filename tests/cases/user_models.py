"""What a user gains per document that she looks at."""

from __future__ import annotations

from math import log2

from cases.case import Case

HALF = [2, 4]  # half of the scale of 4, and all of it

CASES = [
    Case("sdcg", [0, 4], 1 / log2(3) / (1 + 1 / log2(3)), {"k": 2}),
    Case("sdcg", [4, 4], (1 + 1 / log2(3)) / (1 + 1 / log2(3) + 1 / 2), {"k": 3}),
    Case(
        "sdcg",
        [3, 1, 2],
        (1 + 1 / 4) / (1 + 1 / log2(3) + 1 / 2),
        {"k": 3, "max_grade": 3, "min_grade": 1},
    ),
    Case("insq", [0, 4], 4 / 9 / (1 + 4 / 9), {"depth": 2}),
    Case("insq", [4], 1 / (1 + 9 / 16 + 9 / 25), {"depth": 3, "T": 1.5}),
    Case("inst", [0, 4], 4 / 9 / (1 + 4 / 9), {"depth": 2}),
    Case("inst", [4, 2], (1 + 1 / 4 / 2) / (1 + 1 / 4), {"depth": 2}),
    Case("inst", [4, None, 4], (1 + 1 / 9) / (1 + 1 / 4 + 1 / 9), {"depth": 3}),
    Case("bpm", [0, 4, 4], 1 / 2),
    Case("bpm", [0, 2], 1 / 2 / 10),
    Case("bpm", [0, 2, 4], 3 / 2 / 3, {"T": 1.5}),
    Case("bpm", [4, 4], 1 / 1, {"k": 1, "T": 2}),
    Case("bpm", [1, 2, 7], 1.0 / 3, {"max_grade": 10}),
    Case("bpm", [49], 1.0, {"max_grade": 49}),  # 49 times 1/49 is below 1
    Case("bpm_dynamic", [0, 4, 4], 1 / 2),
    Case("bpm_dynamic", [0, 0, 0, 4], 0.0),  # wants 1, .5, 0: gone at the third
    Case("bpm_dynamic", [0, 0, 4, 4], 1 / 3, {"hb": 0.5}),
    Case("bpm_dynamic", [4, 4, 0], 2 / 3, {"k": 2, "T": 9, "hc": 1, "median": 0.75}),
    Case("nerr8", HALF, (1 / 2 + 1 / 2) / (1 + 1 / 2), {"k": 2}),
    Case("nerr8", [0, 2], (1 / 2) / (2 + 1 / 2 + 1 / 2), {"k": 4}),
    Case("nerr9", HALF, (1 / 2 + 1 / 4) / (1 + 1 / 4), {"k": 2}),
    Case("nerr9", [0, 2], (1 / 4) / (1 + 1 / 2 + 1 / 6 + 1 / 8), {"k": 4}),
    Case("nerr10", HALF, (1 / 2 + 0.9 / 2) / (1 + 0.9 / 2)),
    Case("nerr10", [2], (1 / 2) / (1 + 0.25 + 0.125), {"depth": 3, "p": 0.5}),
    Case("nerr11", HALF, (1 / 2 + 2 / 9) / (1 + 2 / 9)),
    Case("nerr11", [2], (1 / 2) / (1 + 1 / 8 + 1 / 18), {"depth": 3, "T": 0.5}),
]

WHERE = {
    "a list shorter than k costs": ["sdcg", "bpm", "bpm_dynamic", "nerr8", "nerr9"],
    "a better document moved up never costs": ["sdcg", "insq"],
}
