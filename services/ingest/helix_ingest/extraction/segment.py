"""Splits a long text into pieces that fit the model.

It splits at headings, then around code fences and tables (kept whole if they fit), then at paragraphs, lines,
sentences and words. A table that does not fit is split between rows, and each piece names its header. Pieces
cover the text in order and without overlap, so their offsets refer to the source.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from helix_ingest.extraction.tables import split_at_tables, start_of_rows
from helix_ingest.extraction.values import Piece
from helix_shared.naming.abbreviations import sentence_ends
from helix_shared.text.fences import fence_spans
from helix_shared.text.scripts import FULL_STOPS

_HEADING: Final = re.compile(r"^[ ]{0,3}(#{1,6})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_UNDERLINED: Final = re.compile(
    r"(?:\A|(?<=\n\n))[ ]{0,3}([^\s#>|*+=-][^\n|]{0,200})\n[ ]{0,3}(?:(={3,})|-{3,})[ \t]*$", re.MULTILINE
)
"""A heading with a line below it, which stands alone: a paragraph may end before a rule, as front matter."""
_BLANK: Final = re.compile(r"\n[ \t\r]*\n")
_CLOSING: Final = r"\u300d\u300f\uff09\u3011\u300b\u201d\u2019"
_SENTENCE: Final = re.compile(rf"(?<=[.!?])\s+|(?<=[{FULL_STOPS}])[{FULL_STOPS}{_CLOSING}]*\s*")
_WORD: Final = re.compile(r"\s+")
_LINE_END: Final = re.compile(r"\n")
MOST_SECTIONS: Final = 1_000
"""Each is at least one memory with its vectors, and all of an event fit one message of HELIX_DERIVED."""
_LONGEST_WORD: Final = 400
"""Characters after which a run without white space is cut."""
_LONGEST_CLAUSE: Final = 100
"""The same for a run that is not ASCII, where a character is about one token."""

Span = tuple[int, int]
CountTokens = Callable[[str], int]


def segment(text: str, *, most_tokens: int, count_tokens: CountTokens, headings: bool = True) -> list[Piece]:
    """Pieces of `text` with at most `most_tokens` tokens each; one piece if the whole text fits.

    With `headings` (Markdown) a heading starts a new piece; `Piece.heading` is the path of its headings,
    joined by ` > `. Headings of more than `MOST_SECTIONS` sections are text.
    """
    if count_tokens(text) <= most_tokens:
        return [_piece(text, (0, len(text)), "")]
    pieces = []
    fences = fence_spans(text)
    sections = list(_sections(text, fences)) if headings else []
    if not 0 < len(sections) <= MOST_SECTIONS:
        sections = [((0, len(text)), "")]
    for section, heading in sections:
        for blocks, rows in _groups(text, _blocks(text, section, fences), most_tokens, count_tokens):
            header = text[blocks[0][0] : rows] if rows else ""
            most = most_tokens - count_tokens(header) if header else most_tokens
            spans = _fitting(text, [(rows, blocks[0][1])] if rows else blocks, most, count_tokens, _FINER)
            for n, span in enumerate(_packed(text, spans, most, count_tokens)):
                start = span[0] - len(header) if n == 0 else span[0]
                piece = replace(_piece(text, (start, span[1]), heading), table_header=header if n else "")
                if piece.text:
                    pieces.append(piece)
    return pieces or [_piece(text, (0, len(text)), "")]


def fitting_spans(text: str, span: Span, *, most_tokens: int, count_tokens: CountTokens) -> list[Span]:
    """Spans of at most `most_tokens` tokens that cover `span`, split at lines, sentences and words."""
    return _fitting(text, [span], most_tokens, count_tokens, _FINER)


def _piece(text: str, span: Span, heading: str) -> Piece:
    raw = text[span[0] : span[1]]
    start = span[0] + len(raw) - len(raw.lstrip())
    return Piece(raw.strip(), start, start + len(raw.strip()), heading)


def _groups(
    text: str, blocks: list[Span], most_tokens: int, count_tokens: CountTokens
) -> Iterator[tuple[list[Span], int]]:
    """Runs of blocks with 0, and each table that is split alone, with the offset of its first row.

    A table is split at its rows if it does not fit and its header leaves at least half of a piece.
    """
    run: list[Span] = []
    for block in blocks:
        rows = start_of_rows(text, block)
        if (
            rows
            and count_tokens(text[slice(*block)]) > most_tokens
            and 2 * count_tokens(text[block[0] : rows]) <= most_tokens
        ):
            if run:
                yield run, 0
            yield [block], rows
            run = []
        else:
            run.append(block)
    if run:
        yield run, 0


def _sections(text: str, fences: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """Spans between headings, each with its path of headings; headings inside code fences are ignored."""
    marked = [
        (mark.start(), len(mark[1]), mark[2].strip().rstrip("#").strip())
        for mark in _outside(_HEADING.finditer(text), fences)
    ]
    underlined = _outside(_UNDERLINED.finditer(text), fences)
    marked += [(mark.start(), 1 if mark[2] else 2, mark[1].strip()) for mark in underlined]
    path: list[tuple[int, str]] = []
    start = 0
    for begin, level, heading in sorted(marked):
        if begin > start:
            yield (start, begin), " > ".join(name for _, name in path)
        path = [*((n, name) for n, name in path if n < level), (level, heading)]
        start = begin
    yield (start, len(text)), " > ".join(name for _, name in path)


def _outside(marks: Iterable[re.Match[str]], fences: Sequence[Span]) -> list[re.Match[str]]:
    """The matches that begin outside all `fences`, which are ordered and do not overlap."""
    starts = [start for start, _ in fences]
    outside = []
    for mark in marks:
        fence = bisect_right(starts, mark.start()) - 1
        if fence < 0 or mark.start() >= fences[fence][1]:
            outside.append(mark)
    return outside


def _blocks(text: str, section: Span, fences: Sequence[Span]) -> list[Span]:
    """The code fences of a section, and the paragraphs and tables between them."""
    at, end = section
    blocks: list[Span] = []
    for fence in fences[bisect_left(fences, (at, 0)) : bisect_left(fences, (end, 0))]:
        blocks += [*_paragraphs(text, (at, fence[0])), fence]
        at = fence[1]
    return [*blocks, *_paragraphs(text, (at, end))]


def _paragraphs(text: str, span: Span) -> list[Span]:
    return [part for paragraph in _split(text, span, _BLANK) for part in split_at_tables(text, paragraph)]


def _split(text: str, span: Span, separator: re.Pattern[str]) -> list[Span]:
    """Split a span after every separator; the parts cover it without gaps."""
    return _cut(span, separator.finditer(text, span[0], span[1]))


def _cut(span: Span, separators: Iterable[re.Match[str]]) -> list[Span]:
    edges = [span[0], *(found.end() for found in separators), span[1]]
    return [(a, b) for a, b in itertools.pairwise(edges) if b > a]


def _lines(text: str, span: Span) -> list[Span]:
    return _split(text, span, _LINE_END)


def _sentences(text: str, span: Span) -> list[Span]:
    return _cut(span, sentence_ends(_SENTENCE.finditer(text, span[0], span[1])))


def _words(text: str, span: Span) -> list[Span]:
    cut = []
    for start, end in _split(text, span, _WORD):
        longest = _LONGEST_WORD if text[start:end].isascii() else _LONGEST_CLAUSE
        cut += [(a, min(a + longest, end)) for a in range(start, end, longest)]
    return cut


_FINER: Final = (_lines, _sentences, _words)


def _fitting(
    text: str,
    spans: list[Span],
    most_tokens: int,
    count_tokens: CountTokens,
    finer: tuple[Callable[[str, Span], list[Span]], ...],
) -> list[Span]:
    """Split every span that is too long with the next finer rule, until all fit."""
    fitting: list[Span] = []
    for span in spans:
        if not finer or count_tokens(text[span[0] : span[1]]) <= most_tokens:
            fitting.append(span)
        else:
            parts = finer[0](text, span)
            cut = _fitting(text, parts, most_tokens, count_tokens, finer[1:])
            fitting += _packed(text, cut, most_tokens, count_tokens)
    return fitting


def _packed(text: str, spans: list[Span], most_tokens: int, count_tokens: CountTokens) -> list[Span]:
    """Join neighbouring spans greedily while they fit together."""
    packed: list[Span] = []
    used = 0
    for start, end in spans:
        tokens = count_tokens(text[start:end])
        if packed and used + tokens <= most_tokens:
            packed[-1] = (packed[-1][0], end)
            used += tokens
        else:
            packed.append((start, end))
            used = tokens
    return packed
