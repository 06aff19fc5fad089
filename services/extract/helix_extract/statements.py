"""Rows of the statements edge: one for each memory of an answer that passed the checks.

A statement belongs to the event of its source turn: its scope, its times, its verbatim memory as
`derived_from`. Consolidation takes scope and source class from the stored verbatim memory once more, and
raises neither. Text and vector are made together, with the encoder of ingest.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from helix_extract.answers.check import CheckedAnswer, CheckedMemory
from helix_extract.answers.names import Entity
from helix_extract.windows.window import Window
from helix_memory.vocabulary.predicates import OBJECT, SUBJECT
from helix_shared import edges
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.minhash import minhash
from helix_shared.identity import content_hash, memory_id, statement_id
from helix_shared.naming import canonical
from helix_shared.timex import find_time_expressions

EDGE: Final = "statements"
VERSION: Final = "8"
"""Part of the de-duplication id: raise it when the same answer should give other rows."""
TYPES: Final = {
    "fact": "semantic",
    "preference": "semantic",
    "decision": "decision",
    "instruction": "procedural",
    "plan": "episodic",
    "event": "episodic",
}
SALIENCE: Final = {
    "decision": 0.6,
    "preference": 0.55,
    "instruction": 0.55,
    "fact": 0.5,
    "plan": 0.5,
    "event": 0.4,
}
"""Salience by kind: in the range that ingest gives to turns of the same type with a few details."""
ACTS: Final = {"plan": "plan", "decision": "decision"}
"""Speech acts by kind; the others state. An instruction holds until it is taken back, so it states too."""
CONFIDENCE: Final = {"user": 0.8, "tool": 0.75, "agent": 0.6}
"""Confidence by source class, as ingest has it; the model's own only lowers it."""
SPEAKER_WEIGHT: Final = 0.5
_DAY: Final = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StatementsBuilder:
    """Builds messages with the vectors of one encoder."""

    encoder: Encoder
    reading: str = ""
    """Which reading of the log it is; part of the de-duplication id alone, so another one publishes again."""

    def build(self, window: Window, answer: CheckedAnswer, key: str) -> DerivedMessage:
        """The message of a window; `key` is that of the recorded answer. Runs in a lane."""
        event = window.last.event
        origin = edges.Origin(
            EDGE,
            event.tenant_id,
            event.event_id,
            event.kind,
            window.last.sequence,
            model=self.encoder.card.id,
        )
        memories = answer.memories
        texts = [memory.text for memory in memories]
        vectors, codes = self.encoder.embed_many_with_codes(texts)
        entities, relations = _entities(answer), _relations(answer)
        pieces: Counter[int] = Counter()
        rows = []
        for place, (memory, vector) in enumerate(zip(memories, vectors, strict=True)):
            number = pieces[memory.source.sequence]
            pieces[memory.source.sequence] += 1
            links = _links(entities[place], relations[place], memory.source.event.speaker)
            row = self._row(memory, vector, links, number, window.last.sequence)
            rows.append(
                row | {"token_codes": codes[place].tobytes(), "quotes": window.quoted_by(memory.source)}
            )
        schema = edges.statements_schema(self.encoder.card.dimensions)
        # the columns that a statement does not set are empty
        rows = [edges.empty_row(schema) | row for row in rows]
        version = f"{VERSION}:{key}:{self.encoder.card.checksum[:12]}:{self.reading}"
        return DerivedMessage.of(origin, rows, schema, version=version)

    def _row(
        self, memory: CheckedMemory, vector: Any, links: Sequence[dict[str, Any]], number: int, revision: int
    ) -> dict[str, Any]:
        event, turn = memory.source.event, memory.source
        verbatim = memory_id(event.tenant_id, event.event_id, 0)
        start, end, guessed = _event_times(memory)
        return {
            **turn.columns,
            "memory_id": statement_id(verbatim, number),
            "type": TYPES[memory.kind],
            "text": memory.text,
            "speaker": event.speaker,
            "role": event.role,
            "revision_sequence": revision,
            "piece": edges.FIRST_STATEMENT_PIECE + number,
            "char_end": len(event.text),
            "content_hash": content_hash(memory.text),
            "minhash": minhash(memory.text),
            "token_count": self.encoder.count_tokens(memory.text),
            "event_start": start,
            "event_end": end,
            "event_guessed": guessed,
            "salience": SALIENCE[memory.kind],
            "confidence": CONFIDENCE[memory.source_class] * memory.confidence,
            "priority": 1.0,
            "source_class": memory.source_class,
            "speech_act": ACTS.get(memory.kind, "statement"),
            "derived_from": verbatim,
            "vector": vector,
            "model": self.encoder.card.id,
            "expansions": list(memory.questions),
            "links": links,
        }


def _entities(answer: CheckedAnswer) -> list[list[Entity]]:
    """The entities of each memory, with both ends of its relations."""
    found = [dict.fromkeys(memory.entities) for memory in answer.memories]
    for link in answer.links:
        if (place := answer.home(link)) is not None:
            found[place] |= dict.fromkeys((link.source, link.target))
    return [list(named) for named in found]


def _relations(answer: CheckedAnswer) -> list[dict[str, list[str]]]:
    """The sides of predicates of each memory, by canonical name."""
    found: list[dict[str, list[str]]] = [{} for _ in answer.memories]
    for link in answer.links:
        ends = [
            (canonical(name), side) for (name, _), side in ((link.source, SUBJECT), (link.target, OBJECT))
        ]
        if (place := answer.home(link)) is not None and all(name for name, _ in ends):
            for name, side in ends:
                sides = found[place].setdefault(name, [])
                if link.predicate + side not in sides:
                    sides.append(link.predicate + side)
    return found


def _links(
    named: Sequence[Entity], relations: Mapping[str, Sequence[str]], speaker: str
) -> list[dict[str, Any]]:
    """Links as kg makes them: one for each canonical name, the speaker with half the weight.

    The sides of predicates take the place of a mention and share its weight.
    """
    weighed = [*((name, 1.0) for name, _ in named), (speaker, SPEAKER_WEIGHT)]
    mentions: dict[str, tuple[str, float]] = {}
    for surface, weight in weighed:
        if name := canonical(surface):
            mentions.setdefault(name, (surface, weight))
    return [
        {"edge": edge, "kind": "name", "name": name, "surface": surface, "weight": weight / len(kinds)}
        for name, (surface, weight) in mentions.items()
        for kinds in (relations.get(name) or ["MENTIONS"],)
        for edge in kinds
    ]


def _event_times(memory: CheckedMemory) -> tuple[dt.datetime | None, dt.datetime | None, bool]:
    """When it happens or holds: the dates of the answer as whole days, else the first time of the text."""
    occurred_at = memory.source.occurred_at
    if memory.valid_from or memory.valid_to:
        first, last = memory.valid_from or memory.valid_to, memory.valid_to or memory.valid_from
        assert first is not None  # noqa: S101  one of the two is set
        assert last is not None  # noqa: S101  likewise
        start = dt.datetime.combine(first, dt.time(), occurred_at.tzinfo)
        return start, dt.datetime.combine(last, dt.time(), occurred_at.tzinfo) + _DAY, False
    found = find_time_expressions(memory.text, occurred_at)
    first_time = next((time for time in found if time.certainty != "open" and time.is_storable), None)
    if first_time is None:
        return None, None, False
    return first_time.start, first_time.end, first_time.certainty == "guessed"
