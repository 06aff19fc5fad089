"""Splits source code at functions, classes and other syntax boundaries with the grammars of tree-sitter.

A definition with the comments directly above it stays whole if it fits. Otherwise it is split at the
definitions inside it, then at statements, then at lines. Text that is not valid code is split in the same
way, because the parser recovers from errors.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_rust
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from helix_ingest.extraction.segment import CountTokens, Span, fitting_spans
from helix_ingest.extraction.values import Piece

MOST_LEVELS: Final = 12
"""Depth of the syntax tree below which code is split at lines."""
NAME_CHARACTERS: Final = 80

_GRAMMARS: Final[dict[str, Callable[[], object]]] = {
    "python": tree_sitter_python.language,
    "javascript": tree_sitter_javascript.language,
    "typescript": tree_sitter_typescript.language_typescript,
    "tsx": tree_sitter_typescript.language_tsx,
    "go": tree_sitter_go.language,
    "rust": tree_sitter_rust.language,
    "java": tree_sitter_java.language,
}
_ATTACHED: Final = ("comment", "attribute_item", "decorator")
"""Parts of the names of nodes that belong to the node below them."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Whole lines of code inside the definitions that `path` names; `node` is None where it has no parts."""

    span: Span
    path: tuple[str, ...]
    node: Node | None


def code_pieces(text: str, language: str, *, most_tokens: int, count_tokens: CountTokens) -> list[Piece]:
    """Pieces of at most `most_tokens` tokens; `Piece.heading` names the definitions around a piece.

    The pieces are whole lines, except for a line that is longer than a piece. They cover the text in order.
    """

    def fits(span: Span) -> bool:
        return count_tokens(text[slice(*span)]) <= most_tokens

    root = _parser(language).parse(text.encode("utf-8", "replace")).root_node
    lines = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    lines[-1] = len(text)
    parts = _fitting(_Part((0, len(text)), (), root), lines, fits)
    pieces: list[Piece] = []
    for path, spans in _packed(parts, text, most_tokens, count_tokens):
        for start, end in spans:
            raw = text[start:end].rstrip()
            code = raw.lstrip("\r\n")  # the indent of the first line stays
            at = start + len(raw) - len(code)
            if code:
                pieces.append(Piece(code, at, at + len(code), " > ".join(path)))
    return pieces


@functools.cache
def _language(name: str) -> Language:
    return Language(_GRAMMARS[name]())


def _parser(name: str) -> Parser:
    return Parser(_language(name))


def _fitting(whole: _Part, lines: list[int], fits: Callable[[Span], bool]) -> Iterator[_Part]:
    """Split parts that are too long into those of their nodes, until they fit or have no nodes."""
    waiting = [(whole, 0)]
    while waiting:
        part, level = waiting.pop()
        if part.node is None or fits(part.span):
            yield part
        elif level == MOST_LEVELS:
            yield _Part(part.span, part.path, None)
        else:
            inner = [(child, level + 1) for child in _inner(part, part.node, lines)]
            waiting += reversed(inner)


def _inner(part: _Part, node: Node, lines: list[int]) -> list[_Part]:
    """Parts of a node that begin at the lines of its children; the first begins where `part` does."""
    name = _name(node)
    path = (*part.path, name) if name else part.path
    starts: list[tuple[int, Node | None]] = [(part.span[0], None)]
    attached = False
    for child in node.children:
        if not child.is_named:  # a closing bracket stays with what it closes
            continue
        at = lines[child.start_point.row]
        if at >= part.span[1]:
            break
        if at > starts[-1][0] and not attached:
            starts.append((at, child))
        elif child.child_count > (starts[-1][1].child_count if starts[-1][1] else 0):
            starts[-1] = (starts[-1][0], child)
        attached = any(kind in child.type for kind in _ATTACHED)
    ends = [*(at for at, _ in starts[1:]), part.span[1]]
    return [_Part((at, end), path, child) for (at, child), end in zip(starts, ends, strict=True)]


def _name(node: Node) -> str:
    """The line that a definition begins with, without its end; "" for other nodes."""
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    body = node.child_by_field_name("body")
    if named is None or body is None or node.text is None:
        return ""
    signature = node.text[: body.start_byte - node.start_byte].decode("utf-8", "replace")
    return " ".join(signature.split()).rstrip(" :{")[:NAME_CHARACTERS]


def _packed(
    parts: Iterator[_Part], text: str, most_tokens: int, count_tokens: CountTokens
) -> Iterator[tuple[tuple[str, ...], list[Span]]]:
    """Spans of neighbouring parts with the same path, joined while they fit together."""
    for path, group in itertools.groupby(parts, key=lambda part: part.path):
        spans: list[Span] = []
        used = 0
        for part in group:
            for span in fitting_spans(text, part.span, most_tokens=most_tokens, count_tokens=count_tokens):
                tokens = count_tokens(text[slice(*span)])
                if spans and used + tokens <= most_tokens:
                    spans[-1] = (spans[-1][0], span[1])
                    used += tokens
                else:
                    spans.append(span)
                    used = tokens
        yield path, spans
