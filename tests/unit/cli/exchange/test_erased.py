"""Ids of memories that an event may have."""

import json
from typing import Any

import pytest

from helix_cli.exchange.erased import memory_ids
from helix_ingest.extraction.documents.document import document_pieces
from helix_memory.events import DocumentEvent
from helix_memory.identity import memory_id

CELL = "<td colspan=64 rowspan=99>a long name that is repeated in each cell of the table</td>"


FIELDS = {"event_id": "d", "tenant_id": "acme", "kind": "document", "document_id": "d"}


@pytest.mark.parametrize(
    "content",
    [
        {"media_type": "text/markdown", "body": "# A\nb\n" * 500},
        {"media_type": "text/html", "body": "<h1>a<p>b" * 500},
        {"media_type": "text/html", "body": f"<table><tr>{CELL}</tr>{'<tr></tr>' * 98}</table>"},
        {"parts": [{"text": "a"}] * 200},
        {"parts": [{"heading": "", "text": "Paris"}] * 200},
        {"media_type": "text/markdown", "parts": [{"text": "# a"}] * 200},
    ],
    ids=["headings", "tags", "cells", "short parts", "parts", "parts with headings"],
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_every_piece_of_a_document_has_one_of_the_ids(content: dict[str, Any], *, is_ascii: bool) -> None:
    """A clone would not find the last ones again that an event names, nor an export what was erased."""
    event = DocumentEvent.model_validate(FIELDS | content)
    pieces = document_pieces(event, most_tokens=64, count_tokens=lambda text: len(text.split()))
    published = json.dumps(FIELDS | content, ensure_ascii=is_ascii, separators=(",", ":")).encode()
    assert memory_id("acme", "d", len(pieces) - 1) in memory_ids("acme", "d", published)


def test_every_piece_of_a_text_has_one_of_the_ids_where_pieces_are_shortest() -> None:
    """With the least `piece_tokens`, and a token for each character."""
    text = "!" * 17
    event = DocumentEvent.model_validate(FIELDS | {"body": f"{text} " * 200})
    pieces = document_pieces(event, most_tokens=32, count_tokens=len)
    published = json.dumps(FIELDS | {"body": f"{text} " * 200}).encode()
    assert len(pieces) == 200
    assert memory_id("acme", "d", len(pieces) - 1) in memory_ids("acme", "d", published)
