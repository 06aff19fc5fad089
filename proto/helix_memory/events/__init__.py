"""The events a program may publish: one model per kind, one discriminated union over all.

An event is an immutable fact. Publishing the same `event_id` again changes nothing. An unknown field is
refused, because it is most often a misspelt one (ops/decisions/0003). Start with `content`; `codec` reads
and writes events. Limits are in `helix_memory.limits`, subjects in `helix_memory.subjects`.
"""

from __future__ import annotations

from helix_memory.events.codec import (
    EVENT_ADAPTER,
    EVENT_MODELS,
    NO_MEMORY_KINDS,
    Event,
    encode_event,
    explain,
    parse_event,
    subject_of,
)
from helix_memory.events.content import (
    CorrectEvent,
    DocumentEvent,
    DocumentPart,
    MemoryEvent,
    MessageEvent,
    SessionEvent,
    ToolEvent,
)
from helix_memory.events.lifecycle import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_memory.subjects import LIFECYCLE_KINDS

__all__ = [
    "EVENT_ADAPTER",
    "EVENT_MODELS",
    "LIFECYCLE_KINDS",
    "NO_MEMORY_KINDS",
    "CorrectEvent",
    "DocumentEvent",
    "DocumentPart",
    "EraseEvent",
    "Event",
    "FeedbackEvent",
    "ForgetEvent",
    "MemoryEvent",
    "MessageEvent",
    "SessionEvent",
    "ToolEvent",
    "UndoEvent",
    "encode_event",
    "explain",
    "parse_event",
    "subject_of",
]
