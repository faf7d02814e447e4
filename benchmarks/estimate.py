"""How often the intervals of ``pr.estimate`` hold the truth, and how narrow they are.

500 repetitions of 200 queries with labels by a model; people judge 40 queries, or a
fifth of the documents. Run from the repository: ``python benchmarks/estimate.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from judges import coverage

MODELS = {
    "good": {"noise": 0.1, "bias": 0.0},
    "biased": {"noise": 0.1, "bias": 0.7},
    "noisy and biased": {"noise": 0.5, "bias": 0.7},
    "useless": {"noise": None},
}
MEASURES = {"queries": ["ndcg@5", "ap", "precision@5", "rr"], "documents": ["dcg@5"]}


def main() -> None:
    print("| model | sampled | measure | covers | people alone | width |")
    print("|---|---|---|---:|---:|---:|")
    for name, model in MODELS.items():
        for sampled, measures in MEASURES.items():
            for measure in measures:
                held, alone, width = coverage(
                    measure=measure, seed=1, repetitions=500, sampled=sampled, **model
                )
                row = f"| {name} | {sampled} | {measure} | {100 * held:.1f} % "
                print(row + f"| {100 * alone:.1f} % | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
