"""Base memories: a few thousand real texts, through the workers. Everything generated is a variant of one.

Rows, links and expansions are what ingest, kg and doc2query make of the development sets; vectors are the
real encoder's. Without any set, sentences are invented.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_ingest.memories_builder import MemoriesBuilder
from helix_ingest.settings import IngestSettings
from helix_lab.sets.build import Advance, derived_messages
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_lab.sets.load import load_set
from helix_shared import edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder

CHAT: Final = "chat"
DOCUMENT: Final = "document"
CODE: Final = "code"
FACT: Final = "fact"
KINDS: Final = (CHAT, DOCUMENT, CODE, FACT)
"""What a memory is about; sessions are drawn by kind."""

SETS: Final = {
    "longmemeval_mini": CHAT,
    "locomo": CHAT,
    "beam100k": CHAT,
    "hotpotqa_train100": DOCUMENT,
    "scifact": DOCUMENT,
    "code_change": CODE,
    "cosqa": CODE,
    "project_facts": FACT,
}
DOCUMENTS_PER_SET: Final = 600
MOST_PER_EVENT: Final = 8
"""Pieces taken of one long text at most, so that a few texts do not dominate."""
READ_AT: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""Time at which the base texts count as published: fixed, so that builds are repeatable."""

INVENTED: Final = "invented"
_SUBJECTS: Final = ("staging", "the importer", "billing", "the scheduler", "the parser", "our cache", "login")
_VERBS: Final = ("fails with", "now uses", "was moved to", "should avoid", "depends on", "logs", "retries")
_OBJECTS: Final = ("port", "token", "E", "queue", "shard", "timeout", "index", "worker", "schema", "bucket")
_REASONS: Final = ("since the release", "after the migration", "because of load", "in the nightly run")
_PEOPLE: Final = ("Mira Lindqvist", "Tomas Becker", "Ines Duarte", "Yusuf Kaya", "Hanna Virtanen")


@dataclass(frozen=True, slots=True)
class Base:
    """Base memories, row by row: rows of the memories edge, and what belongs to them."""

    rows: pa.Table
    vectors: NDArray[np.float32]
    kinds: NDArray[np.int8]
    """Index into `KINDS`, ascending: rows of a kind are contiguous, those of a session in order."""
    links: list[list[dict[str, Any]]]
    expansions: list[list[str]]
    questions: list[str]
    """Real questions over the same sets, none of which is stored."""


def texts(data: Path | None) -> list[EvaluationSet]:
    """Known sets of `data`, shortened; an invented one where there is none."""
    found = [name for name in SETS if data is not None and (data / name / "queries.jsonl.gz").exists()]
    if data is None or not found:
        return [_invented()]
    return [_shortened(load_set(data / name)) for name in found]


def read_base(sets: Sequence[EvaluationSet], encoder: Encoder, *, advance: Advance = lambda: None) -> Base:
    """Send the documents of `sets` through the workers."""
    ingest = MemoriesBuilder(encoder, IngestSettings.load().most_tokens(encoder.card))
    tables: dict[int, list[pa.Table]] = defaultdict(list)
    links: dict[str, list[dict[str, Any]]] = defaultdict(list)
    expansions: dict[str, list[str]] = {}
    for data in sets:
        kind = KINDS.index(SETS.get(data.name, CHAT))
        messages = derived_messages(data, ingest, READ_AT, advance)
        for memories, questions, mentions in (map(_rows, answers) for answers in messages):
            # earlier turns come again with the context that followed them
            tables[kind].append(pa.Table.from_batches([memories]).slice(0, MOST_PER_EVENT))
            expansions |= {row["memory_id"]: row["expansions"] for row in questions.to_pylist()}
            for row in mentions.to_pylist():
                links[row.pop("memory_id")].append(row)
    per_kind = {kind: _last_versions(pa.concat_tables(tables[kind])) for kind in sorted(tables)}
    rows = pa.concat_tables(per_kind.values()).combine_chunks()
    ids = rows["memory_id"].to_pylist()
    vectors = rows["vector"].combine_chunks().flatten().to_numpy().reshape(len(ids), -1)
    return Base(
        rows=rows,
        vectors=vectors,
        kinds=np.repeat(list(per_kind), [len(table) for table in per_kind.values()]).astype(np.int8),
        links=[links[known] for known in ids],
        expansions=[expansions.get(known, []) for known in ids],
        questions=[question.text for data in sets for question in data.questions],
    )


def _rows(message: Any) -> pa.RecordBatch:
    return edges.decode(message.body)[1].replace_schema_metadata(None)


def _last_versions(table: pa.Table) -> pa.Table:
    """Of the rows with one id the last, in the order of the first."""
    last = {known: row for row, known in enumerate(table["memory_id"].to_pylist())}
    return table.take(list(last.values()))


def _shortened(data: EvaluationSet) -> EvaluationSet:
    """The beginning of the corpus, which holds whole sessions."""
    return replace(data, documents=data.documents[:DOCUMENTS_PER_SET])


def _invented() -> EvaluationSet:
    drawn = random.Random(7)  # noqa: S311  a repeatable text, no secret
    documents = list(_invented_turns(drawn))
    asked = drawn.sample(documents, 200)
    questions = [
        Question(f"q{k}", " ".join(document.text.split()[:7]), "", "", "") for k, document in enumerate(asked)
    ]
    return EvaluationSet(INVENTED, documents, questions, {})


def _invented_turns(drawn: random.Random) -> Iterator[Document]:
    for k in range(DOCUMENTS_PER_SET):
        words = " ".join(drawn.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS))
        tail = f"{drawn.randrange(10_000)} {drawn.choice(_REASONS)}, says {drawn.choice(_PEOPLE)}"
        text = f"{words} {tail}; see services/module_{drawn.randrange(50)}/main.py"
        yield Document(f"d{k}", text, "", "", f"s{k // 30}", drawn.choice(("user", "assistant")), "")
