"""Statements of a set and the candidates of each, as consolidation reads and finds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from helix_consolidation.folding.incoming.statements import statements_of
from helix_consolidation.folding.relate import candidates_of
from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.statements.statement_index import StatementIndex
from helix_ingest.memories_builder import MemoriesBuilder
from helix_lab.sets.build import logged_events
from helix_lab.sets.data import EvaluationSet
from helix_shared.edges import decode


@dataclass(frozen=True, slots=True)
class Case:
    """A new statement with its candidates; `older` has the document of each."""

    newer: str
    new: Statement
    older: tuple[str, ...]
    candidates: tuple[Candidate, ...]


def cases_of(data: EvaluationSet, ingest: MemoriesBuilder) -> dict[str, list[Case]]:
    """Cases by tenant, in the order of the log; a statement without a candidate makes none.

    Statements are those of their own message, which does not know the turn that follows.
    """
    index, documents = StatementIndex(), list[str]()
    found: defaultdict[str, list[Case]] = defaultdict(list)
    for position, (event, before) in enumerate(logged_events(data, datetime.now(UTC))):
        document, sequence = data.documents[position], position + 1
        _, batch = decode(ingest.build(event, before).body)
        own = [row for row, of in enumerate(batch["stream_sequence"].to_pylist()) if of == sequence]
        chosen = [(row, len(documents) + number) for number, row in enumerate(own)]
        documents += [document.id] * len(own)
        rows = statements_of(batch, chosen, sequence=sequence, derived=sequence)
        for row, matches in zip(rows, index.add(rows), strict=True):
            if matches:
                older = tuple(documents[index.ordinal(match.number)] for match in matches)
                candidates = tuple(candidates_of(index, row, matches))
                found[document.tenant].append(Case(document.id, row.statement, older, candidates))
    return dict(found)


def in_small_stores(cases: Iterable[Case], judged: Callable[[str, str], bool]) -> Iterator[Case]:
    """The same where little is stored: each judged or nearest candidate alone, and with two more."""
    for case in cases:
        cosines = [candidate.cosine for candidate in case.candidates]
        nearest = cosines.index(max(cosines))
        for at, older in enumerate(case.older):
            if at == nearest or judged(older, case.newer):
                for some in ([at], sorted({at, (at + 1) % len(case.older), (at + 2) % len(case.older)})):
                    yield Case(
                        case.newer,
                        case.new,
                        tuple(case.older[n] for n in some),
                        tuple(case.candidates[n] for n in some),
                    )
