"""Chooses the memory type of a text by rules.

The first matching rule decides; the clearest signals come first.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.decision import decides
from helix_memory.events import DocumentEvent, Event, MessageEvent, ToolEvent
from helix_memory.memory_types import MemoryType
from helix_memory.speech_acts import SpeechAct

_INDENT: Final = r"[^\S\n]*"
"""White space at the start of a line; `\\s*` would also match empty lines and take quadratic time."""

_PROCEDURE: Final = re.compile(
    r"\bhow to\b|\bstep \d\b|\bsteps to\b|\brunbook\b|\bprocedure\b"
    r"|\bto \w+ [^.\n]{3,80}, (?:run|use|call|set|open|first)\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(rf"^{_INDENT}(?:\d+[.)]|step \d+)\s+\S", re.MULTILINE | re.IGNORECASE)
_CODE: Final = re.compile(
    rf"```|^{_INDENT}(?:def |class |import |from \w+ import|fn |func |const |let |var |public |#include"
    r"|Traceback)|\b\w+(?:Error|Exception)\b|\berror\[[A-Z]\d+\]|\b[A-Z]{1,4}\d{3,5}\b",
    re.MULTILINE,
)
_FACT: Final = re.compile(
    r"\b(?:i|we) (?:always |usually |really )?"
    r"(?:prefer|like|love|hate|use|work (?:at|for|on)|live in|am|are)\b"
    r"|\bmy (?:favou?rite|name|birthday|job|preference)\b|\b(?:is|are) (?:owned|maintained|written) by\b",
    re.IGNORECASE,
)
_UNDECIDED: Final = frozenset({"question", "hypothetical", "quotation", "acknowledgement"})
_LEAST_STEPS: Final = 3
_SHORT_CHARACTERS: Final = 600


def classify(event: Event, text: str, act: SpeechAct = "statement") -> MemoryType:
    """The memory type of `text`, a piece of `event` with the speech act `act`."""
    chosen: MemoryType | None = getattr(event, "type", None)
    if chosen is not None:
        return chosen
    if isinstance(event, ToolEvent):
        return "code"
    rules: tuple[tuple[bool, MemoryType], ...] = (
        (decides(text) and act not in _UNDECIDED, "decision"),
        (bool(_PROCEDURE.search(text[:_SHORT_CHARACTERS])), "procedural"),
        (len(_NUMBERED.findall(text)) >= _LEAST_STEPS, "procedural"),
        (bool(_CODE.search(text)), "code"),
        (isinstance(event, DocumentEvent), "semantic"),
        (bool(_FACT.search(text)) and _is_addressed_to_agent(event), "semantic"),
    )
    return next((memory_type for matches, memory_type in rules if matches), "episodic")


def _is_addressed_to_agent(event: Event) -> bool:
    """Whether this is a user talking to the agent, not one of several people talking to another."""
    return not isinstance(event, MessageEvent) or (event.role == "user" and not event.speaker)
