"""`helix-lab vectors`: what each form of storing and scanning vectors loses, on the development sets.

The dense channel alone, by exact search over every document: a first pass in the scanned form, then the best
of it ordered again in the stored form. So a loss here is the form's, not the index's; `helix status --deep`
measures the index in use. Forms: ops/decisions/0015.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from helix_cli.model_build.default_model import ensure_default_model
from helix_lab.options import DataFolder, QuestionLimit, SetNames
from helix_lab.peers.command import embed_set
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import load_judged
from helix_lab.sets.vector_store import VectorStore
from helix_shared.artifacts.signals.vector_storage import STORAGES, Storage, packed, unpacked
from helix_shared.artifacts.vectors.scan import shortened
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.settings import helix_home

CUT: Final = 10
NEIGHBOURS: Final = 100
DEPTH: Final = 200
"""Candidates of the first pass that are ordered again, as the reader takes them for 100."""
QUESTIONS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Way:
    """A first pass over `dimensions` numbers (0: all), or over their signs, then `storage`."""

    storage: Storage
    dimensions: int = 0
    signs: bool = False

    def __str__(self) -> str:
        scan = "signs" if self.signs else f"first {self.dimensions}" if self.dimensions else "all"
        return f"{scan}, {self.storage}"


@dataclass(frozen=True, slots=True)
class Loss:
    """Means over questions, 0 to 1: judged recall, and overlap with exact search."""

    recall_at_10: float
    overlap_at_10: float
    overlap_at_100: float


def vectors_command(
    data: DataFolder,
    sets: SetNames = "",
    limit: QuestionLimit = None,
) -> None:
    """Measure what stored forms, a scan of signs, and shortened scans lose, against float32 throughout."""
    loaded = load_judged(data, sets, limit=limit)
    models = helix_home() / "models"
    ensure_default_model(models)
    model = default_model(models)
    card, console = read_card(model), Console()
    with (
        VectorStore(helix_home() / "lab" / "vectors", model=card.checksum) as store,
        Encoder.load(model, cache=store) as encoder,
    ):
        for one in loaded:
            _print(one.name, losses(one, *embed_set(one, encoder), ways=ways(card.dimensions)), console)


def ways(dimensions: int) -> list[Way]:
    """The storage forms to compare for vectors of this length."""
    shorter = [d for d in (dimensions * 2 // 3, dimensions // 3) if d]
    return [
        *(Way(storage) for storage in STORAGES),
        *(Way(storage, signs=True) for storage in ("float32", "int8")),
        *(Way("int8", d) for d in shorter),
    ]


def losses(
    data: EvaluationSet,
    vectors: NDArray[np.float32],
    question_vectors: NDArray[np.float32],
    *,
    ways: list[Way],
) -> dict[Way, Loss]:
    """What each way finds of the answerable questions of a set; row n is document or question n."""
    place = {question.id: index for index, question in enumerate(data.questions)}
    chosen = np.array([place[question.id] for question in data.answerable], np.int64)
    sought = question_vectors[chosen]
    allowed = _allowed(data, chosen)
    exact = _rankings(vectors, sought, allowed, Way("float32"))
    relevant = [_places(data, question.id) for question in data.answerable]
    return {way: _loss(_rankings(vectors, sought, allowed, way), exact, relevant) for way in ways}


def _allowed(data: EvaluationSet, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which documents each question may see: those of its tenant."""
    owners = np.array([document.tenant for document in data.documents])
    askers = np.array([data.questions[index].tenant for index in chosen.tolist()])
    return np.asarray(askers[:, None] == owners[None, :], np.bool_)


def _places(data: EvaluationSet, question: str) -> set[int]:
    wanted = data.relevant[question]
    return {index for index, document in enumerate(data.documents) if document.id in wanted}


def _rankings(
    vectors: NDArray[np.float32], sought: NDArray[np.float32], allowed: NDArray[np.bool_], way: Way
) -> list[NDArray[np.int64]]:
    """The nearest documents of each question, nearest first, at most `NEIGHBOURS`."""
    scanned, stored = _scanned(vectors, way), unpacked(packed(vectors, way.storage))
    found = []
    for query, first, may in _passes(scanned, sought, allowed, way):
        candidates = np.argsort(-np.where(may, first, -np.inf), kind="stable")[: min(DEPTH, int(may.sum()))]
        order = np.argsort(-(stored[candidates] @ query), kind="stable")[:NEIGHBOURS]
        found.append(candidates[order])
    return found


def _passes(
    scanned: NDArray[np.float32], sought: NDArray[np.float32], allowed: NDArray[np.bool_], way: Way
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]]:
    for start in range(0, len(sought), QUESTIONS_AT_ONCE):
        queries = sought[start : start + QUESTIONS_AT_ONCE]
        scores = _scanned(queries, way) @ scanned.T
        yield from zip(queries, scores, allowed[start : start + QUESTIONS_AT_ONCE], strict=True)


def _scanned(vectors: NDArray[np.float32], way: Way) -> NDArray[np.float32]:
    if way.signs:
        # the product of signs is the length less twice the Hamming distance: the same order
        return np.where(vectors < 0, np.float32(-1), np.float32(1))
    return shortened(vectors, way.dimensions) if way.dimensions else vectors


def _loss(found: list[NDArray[np.int64]], exact: list[NDArray[np.int64]], relevant: list[set[int]]) -> Loss:
    def overlap(cut: int) -> float:
        pairs = zip(found, exact, strict=True)
        return float(
            np.mean([len(np.intersect1d(a[:cut], b[:cut])) / max(1, len(b[:cut])) for a, b in pairs])
        )

    judged = zip(found, relevant, strict=True)
    recall = np.mean([len(wanted & set(a[:CUT].tolist())) / max(1, len(wanted)) for a, wanted in judged])
    return Loss(float(recall), overlap(CUT), overlap(NEIGHBOURS))


def _print(name: str, rows: dict[Way, Loss], console: Console) -> None:
    table: Any = Table(title=name, title_justify="left")
    for column in ("scan, stored as", "R@10", "same of 10", f"same of {NEIGHBOURS}"):
        table.add_column(column, justify="left" if column.startswith("scan") else "right")
    for way, loss in rows.items():
        shares = (loss.recall_at_10, loss.overlap_at_10, loss.overlap_at_100)
        table.add_row(str(way), *(f"{100 * share:.2f}" for share in shares))
    console.print(table)
