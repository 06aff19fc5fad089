"""Chooses the memory type of a text by rules.

The first matching rule decides; the clearest signals come first.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.decision import decides
from helix_ingest.extraction.documents.languages import language_of
from helix_memory.events import DocumentEvent, Event, MessageEvent, ToolEvent
from helix_memory.vocabulary.memory_types import MemoryType
from helix_memory.vocabulary.speech_acts import SpeechAct
from helix_shared.text.fences import fence_spans

_INDENT: Final = r"[^\S\n]*"
"""White space at the start of a line; `\\s*` would also match empty lines and take quadratic time."""

_PROCEDURE: Final = re.compile(
    r"(?<!know )(?<!knows )(?<!learn )(?<!learned )(?<!learnt )(?<!learning )\bhow to\b|\bstep \d\b"
    r"|\bsteps to\b|\brunbook\b"
    r"|\bprocedure\b(?! (?:on|is|was|at|went|will|with|tomorrow|today)\b)"
    r"|\bto \w+ [^.\n]{3,80}, (?:run|use|call|set|open|first)\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(rf"^{_INDENT}(?:\d+[.)]|step \d+)\s+\S", re.MULTILINE | re.IGNORECASE)
_CODE_LINE: Final = (
    rf"^{_INDENT}(?:(?:async )?def \w+\(|class \w+[^\n]{{0,80}}[:{{(]|import [\w.{{*]+(?:;|[^\S\n]*$"
    rf"|[ ,]+(?:as|from)\b)"
    r"|from [\w.]+ import|fn \w+[<(]|func [\w(]|(?:const|let|var) (?:mut )?[\w{[][\w ,}\]:]{0,60}="
    r"|public (?:static|class|void|final|async|interface|enum|\w+ \w+\()|#include|Traceback)"
)
_CODE: Final = re.compile(
    rf"```|{_CODE_LINE}|\b\w+(?:Error|Exception)\b|\berror\[[A-Z]\d+\]|\b(?:error|warning|code"
    rf"|rule)s?:? [A-Z]{{1,4}}\d{{3,5}}\b|\b[A-Z]{{1,4}}\d{{3,5}}: ",
    re.MULTILINE,
)
_WRITTEN_CODE: Final = re.compile(_CODE_LINE)
_CODE_SHARE: Final = 0.5
"""Share of the characters of a document's piece that are lines of code."""
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
        (_is_code(event, text), "code"),
        (isinstance(event, DocumentEvent), "semantic"),
        (bool(_FACT.search(text)) and _is_addressed_to_agent(event), "semantic"),
    )
    return next((memory_type for matches, memory_type in rules if matches), "episodic")


def _is_code(event: Event, text: str) -> bool:
    """Whether a text is code: a turn that shows some, a document that is mostly code."""
    if not isinstance(event, DocumentEvent):
        return bool(_CODE.search(text))
    if language_of(event.media_type, event.source_uri, event.title):
        return True
    spans = fence_spans(text)
    fenced = sum(end - start for start, end in spans)
    begins, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    between = (text[begin:end] for begin, end in zip(begins, ends, strict=True))
    others = sum(len(line) for part in between for line in part.splitlines() if _WRITTEN_CODE.match(line))
    return fenced + others > _CODE_SHARE * len(text)


def _is_addressed_to_agent(event: Event) -> bool:
    """Whether this is a user talking to the agent, not one of several people talking to another."""
    return not isinstance(event, MessageEvent) or (event.role == "user" and not event.speaker)
