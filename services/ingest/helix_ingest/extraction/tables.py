"""Finds Markdown tables: a line with `|`, a rule such as `|---|---|` below it, and rows below the rule."""

from __future__ import annotations

import itertools
from typing import Final

Span = tuple[int, int]

_RULE: Final = frozenset("|-: \t\r\n")


def split_at_tables(text: str, paragraph: Span) -> list[Span]:
    """Spans that cover a paragraph without gaps; each of its tables is one of them."""
    if text.find("|", *paragraph) < 0:
        return [paragraph]
    starts, lines = [paragraph[0]], _lines(text, paragraph)
    inside = False
    for n, (start, end) in enumerate(lines):
        begins = n + 1 < len(lines) and _is_header(text[start:end]) and _is_rule(text[slice(*lines[n + 1])])
        if begins and not inside:
            starts.append(start)
            inside = True
        elif inside and "|" not in text[start:end]:
            starts.append(start)
            inside = False
    return [(a, b) for a, b in itertools.pairwise([*starts, paragraph[1]]) if b > a]


def start_of_rows(text: str, span: Span) -> int | None:
    """Offset of the first row below the header and the rule; None if the span is no table."""
    header = text.find("\n", *span) + 1
    rule = text.find("\n", header, span[1]) + 1 if header else 0
    is_table = rule and _is_header(text[span[0] : header]) and _is_rule(text[header:rule])
    return rule if is_table else None


def _lines(text: str, span: Span) -> list[Span]:
    at, lines = span[0], []
    for line in text[slice(*span)].split("\n"):
        end = min(at + len(line) + 1, span[1])
        lines.append((at, end))
        at = end
    return lines


def _is_header(line: str) -> bool:
    return "|" in line and not line.lstrip().startswith(("```", "~~~"))


def _is_rule(line: str) -> bool:
    return "|" in line and "-" in line and _RULE.issuperset(line)
