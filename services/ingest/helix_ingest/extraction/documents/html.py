"""Text of an HTML page as Markdown: headings, paragraphs, lists, code fences and tables.

Scripts, styles, templates, frames, form controls and navigation (`nav`) are left out, and so are elements
with `hidden` or `display: none`. Items of an ordered list keep their numbers, and those of a list in
a list stand under their item. The parser follows the HTML
standard, loads nothing and resolves no external entity. How deep elements nest is bounded before
(`html_depth`), and the walk is iterative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from helix_ingest.extraction.documents.html_depth import with_bounded_depth
from helix_ingest.extraction.documents.html_writer import SPACE, Writer

MOST_COLUMNS: Final = 64
MOST_ROWS: Final = 99
"""Rows that one cell spans."""
_TEXT: Final = "-text"
_LEFT_OUT: Final = frozenset(
    {"head", "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "audio",
     "video", "nav", "select", "button", "input", "textarea"}
)  # fmt: skip
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "details", "dialog", "div",
     "dl", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "main", "p",
     "section", "summary", "table"}
)  # fmt: skip
_SECTIONS: Final = frozenset({"thead", "tbody", "tfoot"})
_LISTS: Final = frozenset({"ol", "ul", "menu"})
_LINES: Final = frozenset({"br", "dt", "dd", "tr", "td", "th", "legend", "option"})
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_NOT_SHOWN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_SPAN: Final = re.compile(r"[0-9]{1,2}")
_BACKTICKS: Final = re.compile("`+")
_BREAK: Final = "\x00"
"""Where the line of an element within a cell or within code begins or ends; no page holds this character."""
_BREAKS: Final = re.compile("\n?\x00+(?:\n\x00+)?")
_RAISED: Final = {"sup": "^", "sub": "_"}
_RAISED_NUMBER: Final = re.compile(r"\s*[-+\u2212]?[0-9]")
_FRACTION: Final = ("/", "\u2044")


def read_html(source: str, field: str = "body") -> tuple[str, str]:
    """Title in one line and text of a page or a fragment, which stands in `field` of its event; "" for none.

    Raises:
        InvalidInputError: the text is longer than `EXTRACTED_CHARACTERS`.
    """
    page = LexborHTMLParser(with_bounded_depth(source, left_out=_LEFT_OUT))
    title = page.css_first("head > title")
    return "" if title is None else SPACE.sub(" ", title.text()).strip(), _text(page.body, field)


def _text(body: LexborNode | None, field: str) -> str:
    writer = Writer(field)
    waiting: list[LexborNode | str] = [body] if body is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            writer.end(node)
        else:
            waiting += _begin(node, writer)
    return writer.text()


def _begin(node: LexborNode, writer: Writer) -> list[LexborNode | str]:
    """Write the beginning of a node; returns what follows, last first."""
    tag = node.tag or ""
    if tag == _TEXT:
        writer.inline(node.text(deep=False))
        return []
    if _is_left_out(node):
        return []
    if tag == "pre":
        code = _BREAKS.sub("\n", "".join(_within_line(node, line_break="\n")))
        writer.block(_fence(code))
        return []
    if tag == "table" and (table := _table(node)):
        writer.block(table)
        return []
    if tag == "img":
        writer.inline(f" {node.attributes.get('alt') or ''} ")
    if tag in _RAISED:
        writer.inline(_mark_of_raised(node, tag, writer.last))
    end = _open(node, tag, writer)
    children: list[LexborNode | str] = list(node.iter(include_text=True))
    return [*([end] if end else []), *reversed(children)]


def _open(node: LexborNode, tag: str, writer: Writer) -> str:
    """Begin the line or block of an element; returns what ends with it, "" for nothing."""
    if tag in _HEADINGS:
        writer.begin_heading(f"{_HEADINGS[tag]} ")
        return "heading"
    if tag == "li":
        number = writer.numbers.pop(node.mem_id, None)
        writer.begin_item("- " if number is None else f"{number}. ")
        return "item"
    if tag in _LISTS:
        writer.begin_list()
        if tag == "ol":
            writer.numbers |= _numbers(node)
        return "list"
    if tag in _BLOCKS:
        writer.end_line(block=True)
        return "block"
    if tag in _LINES:
        writer.end_line()
        return "line"
    return ""


def _numbers(ordered: LexborNode) -> dict[int, int]:
    """The number of each item of an ordered list, by the id of its node."""
    found: dict[int, int] = {}
    number = _number(ordered.attributes.get("start"), 1)
    for item in ordered.iter():
        if item.tag == "li":
            number = _number(item.attributes.get("value"), number)
            found[item.mem_id] = number
            number += 1
    return found


def _number(stated: str | None, otherwise: int) -> int:
    return int(stated) if stated and _NUMBER.fullmatch(stated.strip()) else otherwise


def _is_left_out(node: LexborNode) -> bool:
    attributes = node.attributes
    is_hidden = "hidden" in attributes or _NOT_SHOWN.search(attributes.get("style") or "") is not None
    return is_hidden or node.tag in _LEFT_OUT


def _fence(code: str) -> str:
    """A code block; its fence is longer than a fence inside it."""
    marks = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(code)), default=0))
    lines = code.strip("\n")
    return f"{marks}\n{lines}\n{marks}" if lines.strip() else ""


def _table(table: LexborNode) -> str:
    """A table of data as Markdown; "" for a layout table.

    A layout table has one column, a table inside it or the role `presentation`. The first row is
    the header if it is in `thead` or has only `th`. Without one each row is a line.
    """
    is_layout = table.attributes.get("role") in {"presentation", "none"}
    if is_layout or any(node.tag == "table" for node in _within(table)):
        return ""
    rows: list[list[str]] = []
    spanning: dict[int, _Spanning] = {}
    has_header, caption = False, ""
    for node in _within(table):
        if node.tag == "caption":
            caption = _cell(node)
        if node.tag in _SECTIONS:
            spanning = {}  # a cell ends with its section
        if node.tag == "tr":
            cells = [cell for cell in node.iter() if cell.tag in {"td", "th"}]
            row = _row(cells, spanning)
            if not rows and cells:
                in_head = node.parent is not None and node.parent.tag == "thead"
                has_header = in_head or all(cell.tag == "th" for cell in cells)
            rows += [row] if any(row) else []
    columns = max(map(len, rows), default=0)
    if columns <= 1:
        return ""
    lines = ["| " + " | ".join([*row, *[""] * (columns - len(row))]) + " |" for row in rows]
    if has_header:
        lines.insert(1, "|" + "---|" * columns)
    return "\n".join([*([caption, ""] if caption else []), *lines])


def _within(table: LexborNode) -> Iterator[LexborNode]:
    """Elements inside a table in their order."""
    waiting = list(table.iter())[::-1]
    while waiting:
        node = waiting.pop()
        if not _is_left_out(node):
            yield node
            waiting += list(node.iter())[::-1]


def _cell(node: LexborNode) -> str:
    """Text of a cell in one line; `|` is escaped."""
    parts = " ".join("".join(_within_line(node, line_break=" ")).split(_BREAK))
    return SPACE.sub(" ", parts).strip().replace("|", "\\|")


def _within_line(node: LexborNode, *, line_break: str) -> list[str]:
    """Texts of an element whose lines are not the page's own, with `_BREAK` around each of its blocks."""
    parts: list[str] = []
    waiting: list[LexborNode | str] = [*reversed(list(node.iter(include_text=True)))]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            parts.append(inner)
            continue
        tag = inner.tag or ""
        if tag == _TEXT:
            parts.append(inner.text(deep=False))
        elif tag == "br":
            parts.append(line_break)
        elif not _is_left_out(inner):
            if tag in _RAISED:
                parts.append(_mark_of_raised(inner, tag, parts[-1][-1:] if parts else ""))
            if tag in _BLOCKS or tag in _LINES or tag in _HEADINGS or tag in {"li", "pre"}:
                parts.append(_BREAK)
                waiting.append(_BREAK)
            waiting += list(inner.iter(include_text=True))[::-1]
    return parts


def _mark_of_raised(node: LexborNode, tag: str, before: str) -> str:
    """What keeps a raised or lowered number from being read as digits of the number before it."""
    first = node.child
    while first is not None and first.tag != _TEXT:
        first = first.child
    if not before.isdigit() or first is None or not _RAISED_NUMBER.match(first.text(deep=False)):
        return ""
    behind = node.next
    is_fraction = behind is not None and behind.tag == _TEXT and behind.text(deep=False).startswith(_FRACTION)
    return " " if is_fraction else _RAISED[tag]


@dataclass(slots=True)
class _Spanning:
    """A cell that also stands in the `rows` below it."""

    text: str
    rows: int


def _row(cells: list[LexborNode], spanning: dict[int, _Spanning]) -> list[str]:
    """The texts of a row by column; a cell of an earlier row stands in its column again."""
    row: list[str] = []
    for cell in cells:
        _take_from_above(row, spanning)
        if len(row) >= MOST_COLUMNS:
            break
        below = _span(cell, "rowspan", MOST_ROWS) - 1
        columns = min(_span(cell, "colspan", MOST_COLUMNS), MOST_COLUMNS - len(row))
        for text in (_cell(cell), *[""] * (columns - 1)):
            spanning[len(row)] = _Spanning(text, below)
            row.append(text)
    last = max((column for column, above in spanning.items() if above.rows), default=-1)
    _take_from_above(row, spanning)
    while len(row) <= last:
        row.append("")
        _take_from_above(row, spanning)
    return row[:MOST_COLUMNS]


def _take_from_above(row: list[str], spanning: dict[int, _Spanning]) -> None:
    """Append the cells that span into the next columns of this row."""
    while (above := spanning.get(len(row))) is not None and above.rows:
        above.rows -= 1
        row.append(above.text)


def _span(cell: LexborNode, attribute: str, most: int) -> int:
    """How many columns or rows a cell spans: 1 to `most`."""
    span = cell.attributes.get(attribute) or ""
    return max(1, min(int(span), most)) if _SPAN.fullmatch(span) else 1
