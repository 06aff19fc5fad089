"""Turns drafts with their scores and vectors into rows of the memories edge, one row per draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from helix_ingest.extraction.acts.speech_act import speech_act
from helix_ingest.extraction.classify import classify
from helix_ingest.extraction.persons.about import about_whom
from helix_ingest.extraction.score import confidence, event_times, salience, source_class
from helix_ingest.extraction.values import Draft
from helix_ingest.facets.columns import facet_columns
from helix_memory.events import CorrectEvent, DocumentEvent, MemoryEvent, MessageEvent, ToolEvent
from helix_shared.about import author
from helix_shared.encoders.minhash import minhash
from helix_shared.identity import content_hash, memory_id
from helix_shared.text.flags import flags_of

if TYPE_CHECKING:
    from helix_memory.events import Event
    from helix_memory.vocabulary.speech_acts import SpeechAct


def rows_of(
    drafts: Sequence[Draft], vectors: NDArray[np.float32], token_counts: Sequence[int], *, model: str
) -> list[dict[str, Any]]:
    """Rows of `edges.memories_schema`; `vectors[n]` and `token_counts[n]` belong to `drafts[n]`."""
    rows = [
        _row(draft, vector, tokens, model)
        for draft, vector, tokens in zip(drafts, vectors, token_counts, strict=True)
    ]
    return [row | facet_columns(row) for row in rows]


def _row(draft: Draft, vector: NDArray[np.float32], tokens: int, model: str) -> dict[str, Any]:
    event, logged = draft.logged.event, draft.logged
    spoken = draft.spoken or draft.text
    act = speech_act(event, spoken, answers=bool(draft.answers))
    given_salience = getattr(event, "salience", None)
    times = event_times(event, spoken, logged.occurred_at)
    if times.start is None and draft.derived_from:
        times = event_times(event, draft.text, logged.occurred_at)
    pinned, priority = getattr(event, "pinned", None), getattr(event, "priority", None)
    return {
        **logged.columns,
        "memory_id": memory_id(event.tenant_id, event.event_id, draft.piece),
        "type": classify(event, draft.text, act),
        "text": draft.text,
        "title": draft.title,
        "context": draft.context,
        "speaker": event.speaker if isinstance(event, MessageEvent) else "",
        "role": event.role if isinstance(event, MessageEvent) else _role(event),
        "revision_sequence": draft.revision_sequence,
        "document_id": event.document_id if isinstance(event, DocumentEvent) else "",
        "source_uri": event.source_uri if isinstance(event, DocumentEvent) else "",
        "piece": draft.piece,
        "char_start": draft.char_start,
        "char_end": draft.char_end,
        "content_hash": content_hash(draft.text),
        "minhash": minhash(draft.text),
        "token_count": tokens,
        "valid_from": getattr(event, "valid_from", None),
        "valid_to": getattr(event, "valid_to", None),
        "expires_at": getattr(event, "expires_at", None),
        "event_start": times.start,
        "event_end": times.end,
        "event_guessed": times.guessed,
        "salience": _salience(event, spoken, act) if given_salience is None else given_salience,
        "confidence": confidence(event, spoken),
        "pinned": bool(pinned),
        "priority": 1.0 if priority is None else priority,
        "source_class": source_class(event),
        "corrects": event.memory_id if isinstance(event, CorrectEvent) else "",
        "speech_act": act,
        "about": _about(event, draft),
        "answers": draft.answers,
        "answered_by": draft.answered_by,
        "derived_from": draft.derived_from,
        "quotes": draft.quotes,
        "flags": flags_of(f"{draft.title}\n{draft.text}", is_key_part=draft.is_key_part),
        "vector": vector,
        "model": model,
    }


def _salience(event: Event, spoken: str, act: SpeechAct) -> float:
    return salience(spoken, classify(event, spoken, act), act)


def _about(event: Event, draft: Draft) -> str:
    """Whom a user's text is about; nobody asks for what an agent says of itself."""
    if isinstance(event, MessageEvent):
        return about_whom(draft.text, author(event.speaker)) if event.role == "user" else ""
    return about_whom(draft.text, author("")) if isinstance(event, MemoryEvent) else ""


def _role(event: object) -> str:
    return "tool" if isinstance(event, ToolEvent) else ""
