"""Ids of memories that an event may have."""

import json

import pytest

from helix_cli.exchange.erased import memory_ids
from helix_ingest.extraction.documents.document import document_pieces
from helix_memory.events import DocumentEvent
from helix_memory.identity import memory_id

CELL = "<td colspan=64 rowspan=99>a long name that is repeated in each cell of the table</td>"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/markdown", "# A\nb\n" * 500),
        ("text/html", "<h1>a<p>b" * 500),
        ("text/html", f"<table><tr>{CELL}</tr>{'<tr></tr>' * 98}</table>"),
    ],
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_every_piece_of_a_document_has_one_of_the_ids(media_type: str, body: str, *, is_ascii: bool) -> None:
    """An export would not leave out the erased last sections of a document with short ones."""
    fields = {"event_id": "d", "tenant_id": "acme", "kind": "document", "document_id": "d"}
    event = DocumentEvent.model_validate(fields | {"media_type": media_type, "body": body})
    pieces = document_pieces(event, most_tokens=64, count_tokens=lambda text: len(text.split()))
    published = json.dumps(fields | {"media_type": media_type, "body": body}, ensure_ascii=is_ascii).encode()
    assert memory_id("acme", "d", len(pieces) - 1) in memory_ids("acme", "d", published)
