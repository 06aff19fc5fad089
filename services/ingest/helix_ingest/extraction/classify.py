"""Typing: which of the five memory types a text is, by rules that say why.

The first rule that fires decides; the order is from the plainest signal to the vaguest.
"""

from __future__ import annotations

import re
from typing import Final

from helix_memory.events import DocumentEvent, Event, MessageEvent, ToolEvent
from helix_memory.memory_types import MemoryType

_INDENT: Final = r"[^\S\n]*"
"""White space in front of a line's text; `\\s*` would also run over empty lines, once from each of them."""

_DECISION: Final = re.compile(
    r"\b(we|i|team)(?:'ve| have)? (?:\w+ )?(decided|agreed|chose|settled|opted|switched|"
    r"are (?:going with|moving to))\b"
    r"|\b(decision|decided)\s*:|\blet'?s (?:go with|use|switch to|move to|stick with|drop)\b"
    r"|\bwe(?:'ll| will) (?:go with|use|switch|move|keep|stick|drop)\b|\bfrom now on\b"
    r"|\bstatus:\s*accepted\b",
    re.IGNORECASE,
)
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
_LEAST_STEPS: Final = 3
_SHORT_CHARACTERS: Final = 600


def classify(event: Event, text: str) -> MemoryType:
    """The type of the memory that `text`, a piece of `event`, becomes."""
    given: MemoryType | None = getattr(event, "type", None)
    if given is not None:
        return given
    if isinstance(event, ToolEvent):
        return "code"
    stated: tuple[tuple[bool, MemoryType], ...] = (
        (bool(_DECISION.search(text)), "decision"),
        (bool(_PROCEDURE.search(text[:_SHORT_CHARACTERS])), "procedural"),
        (len(_NUMBERED.findall(text)) >= _LEAST_STEPS, "procedural"),
        (bool(_CODE.search(text)), "code"),
        (isinstance(event, DocumentEvent), "semantic"),
        (bool(_FACT.search(text)) and _speaks_for_itself(event), "semantic"),
    )
    return next((memory_type for fires, memory_type in stated if fires), "episodic")


def _speaks_for_itself(event: Event) -> bool:
    """A user telling the agent a fact, not one of several people chatting."""
    return not isinstance(event, MessageEvent) or (event.role == "user" and not event.speaker)
