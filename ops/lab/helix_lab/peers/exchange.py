"""The folder between Helix and a peer: what is written for it, and its answers read back.

Order is line order: line n of `documents.jsonl` (handle, text, title, speaker, tenant) belongs to row n of
`vectors.npy`, `questions.jsonl` (handle, text, tenant) to `question_vectors.npy`. Handles are opaque;
only this side maps them to the set's ids. `ask` is the reader on the other side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.handles import handle, tenant_of
from helix_shared.errors import CorruptArtifactError, InvalidInputError

UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Costs:
    """What an engine needed beside the time of its searches."""

    version: str
    note: str
    """What a reader has to know about this engine's figures."""
    load_seconds: float
    """Documents and vectors in hand to the first search; embedding excluded."""
    peak_memory_mib: float
    """Of its whole process, the given vectors included."""
    disk_bytes: int
    """Of its own folder; 0 where it keeps nothing on disk."""


def write_exchange(
    data: EvaluationSet, vectors: np.ndarray, question_vectors: np.ndarray, folder: Path
) -> None:
    """Write documents, questions and their vectors; `folder` is made.

    Raises:
        InvalidInputError: vectors are not one unit float32 row for each document and question.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for field, rows, count in (
        ("vectors", vectors, len(data.documents)),
        ("question_vectors", question_vectors, len(data.questions)),
    ):
        _check_vectors(field, rows, count)
        np.save(folder / f"{field}.npy", np.ascontiguousarray(rows, dtype=np.float32))
    _write_rows(folder / "documents.jsonl", _document_rows(data))
    _write_rows(folder / "questions.jsonl", _question_rows(data))


def read_run(data: EvaluationSet, name: str, out: Path) -> Run:
    """The answers an engine left in `out`, under the set's own ids again.

    Raises:
        CorruptArtifactError: a question without its answer, an unknown handle, or one twice.
    """
    documents = {handle("document", data.name, document.id): document.id for document in data.documents}
    rows = _read_rows(out / "results.jsonl")
    asked = [handle("question", data.name, question.id) for question in data.questions]
    if [row["question"] for row in rows] != asked:
        raise CorruptArtifactError(
            f"{name} answered {len(rows)} of {len(asked)} questions, or in another order"
        )
    answers = []
    for question, row in zip(data.questions, rows, strict=True):
        ranking = tuple(documents.get(known, "") for known in row["ranking"])
        if "" in ranking or len(set(ranking)) != len(ranking):
            raise CorruptArtifactError(f"{name} ranked an unknown document, or one twice, for {question.id}")
        answers.append(Answer(question.id, ranking, float(row["milliseconds"])))
    return Run(data.name, name, tuple(answers))


def read_costs(out: Path) -> Costs:
    """What the engine that wrote `out` needed.

    Raises:
        CorruptArtifactError: it wrote no such file, or not all of it.
    """
    try:
        (facts,) = _read_rows(out / "engine.json")
        return Costs(**{field: facts[field] for field in Costs.__slots__})
    except (OSError, ValueError, KeyError) as error:
        raise CorruptArtifactError(
            f"{out / 'engine.json'} is not a report of an engine: {error!r}"
        ) from error


def read_missing(out: Path) -> str:
    """Why the engine could not be imported; empty when it could."""
    path = out / "engine.json"
    return str(_read_rows(path)[0].get("missing", "")) if path.exists() else ""


def _check_vectors(field: str, rows: np.ndarray, count: int) -> None:
    if rows.ndim != 2 or len(rows) != count:  # noqa: PLR2004 - a row each
        raise InvalidInputError(field, f"has the shape {rows.shape}; it must have {count} rows")
    lengths = np.linalg.norm(rows, axis=1)
    if not np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        raise InvalidInputError(field, "holds a row whose length is not one; engines would rank differently")


def _document_rows(data: EvaluationSet) -> Iterable[dict[str, str]]:
    tenants = _handles_of_tenants(data)
    for document in data.documents:
        yield {
            "handle": handle("document", data.name, document.id),
            "text": document.text,
            "title": document.title,
            "speaker": document.speaker,
            "tenant": tenants[document.tenant],
        }


def _question_rows(data: EvaluationSet) -> Iterable[dict[str, str]]:
    tenants = _handles_of_tenants(data)
    for question in data.questions:
        yield {
            "handle": handle("question", data.name, question.id),
            "text": question.text,
            "tenant": tenants[question.tenant],
        }


def _handles_of_tenants(data: EvaluationSet) -> dict[str, str]:
    """Handles by tenant; none in a set without tenants, which an engine need not filter."""
    tenants = {document.tenant for document in data.documents}
    tenants |= {question.tenant for question in data.questions}
    return {tenant: tenant_of(data.name, tenant) if any(tenants) else "" for tenant in tenants}


def _write_rows(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
