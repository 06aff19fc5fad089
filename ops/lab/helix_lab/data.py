"""Evaluation sets: a folder with corpus.jsonl.gz, queries.jsonl.gz and qrels.tsv.

The form is the one of common retrieval benchmarks, with tenant, session, speaker and time where
known; users' own data in the same form works as well. A broken file is refused with its name and
line.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix_shared.errors import InvalidInputError, NotFoundError


@dataclass(frozen=True, slots=True)
class Document:
    """One line of the corpus; what is not known is empty."""

    id: str
    text: str
    title: str
    timestamp: str
    session_id: str
    speaker: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the queries."""

    id: str
    text: str
    category: str
    timestamp: str
    tenant: str


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A whole set; `relevant[question id]` maps document ids to their gain, above 0."""

    name: str
    documents: list[Document]
    questions: list[Question]
    relevant: dict[str, dict[str, float]]

    @property
    def answerable(self) -> list[Question]:
        """Questions with at least one relevant document; the others test abstention."""
        return [question for question in self.questions if self.relevant.get(question.id)]


def load_set(folder: Path, *, corpus_folder: Path | None = None) -> EvaluationSet:
    """Read a set; the corpus comes from `corpus_folder` where the set has none of its own.

    Raises:
        NotFoundError: a file is missing.
        InvalidInputError: a line cannot be read, or a judgement names an unknown id.
    """
    corpus = (corpus_folder or folder) / "corpus.jsonl.gz"
    documents = [Document(*_fields(row, Document)) for row in _rows(corpus)]
    questions = [Question(*_fields(row, Question)) for row in _rows(folder / "queries.jsonl.gz")]
    known = {document.id for document in documents}, {question.id for question in questions}
    relevant = _judgements(folder / "qrels.tsv", *known)
    if not documents or not questions:
        raise InvalidInputError(str(folder), "the set has no documents or no questions")
    return EvaluationSet(folder.name, documents, questions, relevant)


def _fields(row: dict[str, Any], kind: type[Document | Question]) -> list[str]:
    return [str(row.get(field.name) or "") for field in dataclasses.fields(kind)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        raise NotFoundError(f"{path} does not exist; a set has corpus.jsonl.gz, queries.jsonl.gz, qrels.tsv")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                if not row["id"] or not row["text"]:
                    raise InvalidInputError(f"{path}:{number}", "id and text must not be empty")
            except (ValueError, KeyError, TypeError) as error:
                reason = f"no JSON object with id and text: {error}"
                raise InvalidInputError(f"{path}:{number}", reason) from error
            yield row


def _judgements(path: Path, documents: set[str], questions: set[str]) -> dict[str, dict[str, float]]:
    if not path.exists():
        raise NotFoundError(f"{path} does not exist")
    relevant: dict[str, dict[str, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], 2):
        try:
            question, document, gain = line.split("\t")[:3]
            weight = float(gain)
        except ValueError as error:
            raise InvalidInputError(f"{path}:{number}", "not: query id, document id, gain") from error
        if question not in questions or document not in documents:
            raise InvalidInputError(f"{path}:{number}", "names a query or a document outside the set")
        if weight > 0:
            relevant.setdefault(question, {})[document] = weight
    return relevant
