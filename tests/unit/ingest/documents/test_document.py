"""Documents of every media type: pieces, offsets, headings, refusals."""

import base64
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from helix_ingest.extraction.documents.document import document_pieces
from helix_ingest.extraction.drafts import drafts_of
from helix_ingest.extraction.values import LoggedEvent, Piece
from helix_memory import limits
from helix_memory.events import DocumentEvent, encode_event, parse_event
from helix_shared.errors import InvalidInputError

ROWS = "".join(f"| Valve {n} | {n} bar | room {n} |\n" for n in range(20))
TABLE = "| Part | Pressure | Place |\n|---|---|---|\n" + ROWS


def words(text: str) -> int:
    """A token is a word in these tests."""
    return len(text.split())


def document(**fields: Any) -> DocumentEvent:
    """A document event."""
    named = {"event_id": "e", "tenant_id": "t", "document_id": "d"}
    return DocumentEvent.model_validate(named | fields)


def pieces_of(most_tokens: int = 40, **fields: Any) -> list[Piece]:
    """Pieces of a document event."""
    return document_pieces(document(**fields), most_tokens=most_tokens, count_tokens=words)


def encoded(file: bytes) -> str:
    """A file as base64."""
    return base64.b64encode(file).decode()


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
def test_rows_of_a_long_table_keep_its_header_and_their_offsets(media_type: str) -> None:
    """A reader of the last rows sees the names of the columns; offsets are those of the rows."""
    body = f"Pressures of the plant:\n{TABLE}\nCall Ines about leaks."
    pieces = pieces_of(60, body=body, media_type=media_type)
    assert all(body[p.start : p.end] == p.text for p in pieces)
    rows = [p for p in pieces if "Valve" in p.text]
    assert len(rows) > 2
    assert all(p.shown.startswith("| Part | Pressure | Place |\n|---|---|---|\n| Valve") for p in rows)
    assert all(words(p.shown) <= 60 for p in pieces)
    assert all(line.endswith("|") for p in rows for line in p.shown.splitlines())
    event = document(body=body, media_type=media_type)
    logged = LoggedEvent(event, 1, datetime(2024, 5, 2, tzinfo=UTC))
    drafts = drafts_of(logged, [], most_tokens=60, count_tokens=words)
    assert drafts[-2].text.startswith("| Part |")
    assert drafts[-2].text in drafts[-2].passage
    assert body[drafts[-2].char_start : drafts[-2].char_end] == rows[-1].text


def test_table_inside_a_code_fence_is_code() -> None:
    """Its lines get no header."""
    body = "```\n" + TABLE + "```\n"
    assert {p.table_header for p in pieces_of(body=body, media_type="text/markdown")} == {""}


def test_html_page_becomes_headings_paragraphs_lists_and_tables() -> None:
    """Offsets refer to the extracted text, whose pieces have the path of their headings."""
    page = (
        "<html><head><title>no</title><script>no()</script></head><body><nav>Home</nav>"
        "<h1>Boiler</h1><p>Serviced in   <b>March</b>.</p><h2>Steps</h2><ol><li>Drain</li><li>Fill &amp; vent"
        "</li></ol><p hidden>no</p><table><tr><th>Part</th><th>Price</th></tr><tr><td>Seal</td>"
        "<td>4 | 5</td></tr></table><pre>if x:\n    y()</pre></body></html>"
    )
    pieces = pieces_of(13, body=page, media_type="text/html")
    assert [(p.text, p.heading) for p in pieces] == [
        ("# Boiler\n\nServiced in March.", "Boiler"),
        ("## Steps\n\n1. Drain\n2. Fill & vent", "Boiler > Steps"),
        ("| Part | Price |\n|---|---|\n| Seal | 4 \\| 5 |", "Boiler > Steps"),
        ("```\nif x:\n    y()\n```", "Boiler > Steps"),
    ]
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    assert "no" not in " ".join(p.text for p in pieces).split()


def test_parts_of_html_keep_their_headings_and_follow_each_other() -> None:
    """The heading of the part comes before the heading inside it."""
    parts = [{"heading": "A", "text": "<h2>In</h2><p>one"}, {"text": "<p>two"}]
    found = pieces_of(2, parts=parts, media_type="text/html")
    assert [(p.text, p.heading) for p in found][-1] == ("two", "")
    assert found[0].heading == "A > In"
    assert found[-1].start == len("## In\n\none")


def test_pdf_pieces_name_their_page_and_their_offsets(pdf: Callable[..., bytes]) -> None:
    """Offsets refer to the texts of the pages with an empty line between them."""
    pages = ["The lift was repaired by Jonas.\nInvoice 4411.", "The warranty ends in autumn."]
    pieces = pieces_of(6, body_base64=encoded(pdf(*pages)), media_type="application/pdf")
    assert [(p.text, p.heading) for p in pieces] == [
        ("The lift was repaired by Jonas.", "page 1"),
        ("Invoice 4411.", "page 1"),
        ("The warranty ends in autumn.", "page 2"),
    ]
    assert all("\n\n".join(pages)[p.start : p.end] == p.text for p in pieces)


def test_refused_files_name_the_field_and_the_reason(pdf: Callable[..., bytes]) -> None:
    """Broken, encrypted, empty and exploding files never reach the stores."""
    bomb = zlib.compress(b" " * 160_000_000)
    for file, reason in (
        (b"PK\x03\x04 a zip file", "is no PDF file"),
        (b"%PDF-1.7\n" + b"\x00garbage" * 100, "no PDF file that can be read"),
        (pdf("text")[:-200], "no"),
        (pdf(""), "holds no text"),
        (pdf("x", dictionary=b"/Filter /FlateDecode", stream=bomb), "body_base64"),
    ):
        with pytest.raises(InvalidInputError, match=reason) as refused:
            pieces_of(body_base64=encoded(file), media_type="application/pdf")
        assert refused.value.field == "body_base64"


def test_page_without_text_is_refused() -> None:
    """A script alone is no document."""
    with pytest.raises(InvalidInputError, match="body: holds no text"):
        pieces_of(body="<script>a()</script>", media_type="text/html")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"body": "text", "media_type": "application/pdf"}, "application/pdf comes in body_base64"),
        ({"body_base64": "QQ==", "media_type": "text/html"}, "application/pdf comes in body_base64"),
        ({"body_base64": "Q", "media_type": "application/pdf"}, "is not base64"),
        ({"body_base64": "Q Q=", "media_type": "application/pdf"}, "match"),
        ({"body_base64": "QUFB" * 60_001, "media_type": "application/pdf"}, "240000"),
        ({"body": "a", "body_base64": "QQ==", "media_type": "application/pdf"}, "either body or parts"),
        ({"body": "a", "media_type": "image/png"}, "text/x-java"),
    ],
)
def test_event_refuses_contents_that_do_not_fit_its_media_type(fields: dict[str, Any], reason: str) -> None:
    """A publisher learns it before publishing."""
    with pytest.raises(ValidationError, match=reason):
        document(**fields)


def test_largest_file_fits_an_event() -> None:
    """Its JSON is smaller than the stream allows, and keeps the file."""
    event = document(body_base64=encoded(b"\xff" * limits.DOCUMENT_BYTES), media_type="application/pdf")
    body = encode_event(event)
    assert len(body) < limits.EVENT_BYTES - 8_192
    assert parse_event(body) == event


def test_plain_text_loads_no_parser() -> None:
    """The grammars and the HTML parser are loaded with the first document that needs them."""
    modules = "{name for name in sys.modules if name.startswith(('tree_sitter', 'selectolax', 'pypdf'))}"
    code = f"import sys, helix_ingest.extraction.drafts; print({modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
