"""Retrieval metrics of one ranking, each between 0 and 1; averaged over questions by `mean`.

R@k: share of the relevant documents within the first k. Hit@k: 1 when any is. All@k: 1 when all
are. MRR@10: reciprocal rank of the first. As in ../shared/data/tools/bm25_baseline.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

CUTS: Final = (1, 5, 10)


def evaluate(ranking: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """Every metric of one ranking (ids, best first, none twice)."""
    scores: dict[str, float] = {}
    for k in CUTS:
        found = sum(document in relevant for document in ranking[:k])
        scores |= {
            f"R@{k}": found / len(relevant),
            f"Hit@{k}": float(found > 0),
            f"All@{k}": float(found == len(relevant)),
        }
    ranks = (n for n, document in enumerate(ranking[:10], 1) if document in relevant)
    first = next(ranks, None)
    return scores | {"MRR@10": 1 / first if first else 0.0}


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each metric's mean over questions, in percent with one decimal."""
    return {name: round(100 * fmean(row[name] for row in rows), 1) for name in rows[0]} if rows else {}
