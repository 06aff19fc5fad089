"""Fenced code blocks of Markdown (CommonMark 0.31, section 4.5), and blocks inside a fenced example.

A fence is closed by one of its own kind that is at least as long and has no words behind it. One of its own
kind with words ("```python" inside "```markdown") begins a nested block, if both blocks are closed. A fence
that is not closed ends with the text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

Span = tuple[int, int]

_FENCE: Final = re.compile(r"^[ \t]{0,3}(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))(?:\n|\Z)", re.MULTILINE)


def fence_spans(text: str) -> list[Span]:
    """The spans of the fenced blocks of a text, with the lines of their fences, in order and disjoint."""
    marks = list(_FENCE.finditer(text))
    spans = list(_spans(marks, nested=True))
    unclosed = spans[-1][1] < 0 if spans else False
    if unclosed:
        begin = spans.pop()[0]
        rest = [mark for mark in marks if mark.start() >= begin]
        spans += _spans(rest, nested=False)
    return [(start, len(text) if end < 0 else end) for start, end in spans]


def lines_in_fences(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text with their ends, each with whether it belongs to a fenced block."""
    spans = deque(fence_spans(text))
    at = 0
    for line in text.splitlines(keepends=True):
        while spans and spans[0][1] <= at:
            spans.popleft()
        yield line, bool(spans) and spans[0][0] <= at
        at += len(line)


def _spans(marks: Sequence[re.Match[str]], *, nested: bool) -> Iterator[Span]:
    """The spans between opening and closing fences; the end of an unclosed one, which is the last, is -1."""
    open_fences: list[str] = []
    begin = 0
    for mark in marks:
        fence, words = mark[1] or mark[3], (mark[2] or mark[4] or "").strip()
        if not open_fences:
            open_fences, begin = [fence], mark.start()
        elif fence.startswith(open_fences[-1]):
            if not words:
                open_fences.pop()
                if not open_fences:
                    yield begin, mark.end()
            elif nested:
                open_fences.append(fence)
    if open_fences:
        yield begin, -1
