"""Markdown documents: front matter is no text, and some code in a text does not make it code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from helix_ingest.extraction.classify import classify
from helix_ingest.extraction.documents.document import document_pieces
from helix_ingest.extraction.documents.front_matter import front_matter
from helix_ingest.extraction.drafts import drafts_of
from helix_ingest.extraction.values import LoggedEvent
from helix_memory.events import DocumentEvent

MATTER = "---\ntitle: Compost\nauthor: Ines\ntags: [garden, soil]\nlinks:\n  - heap\n---\n"
TEXT = "# Compost\n\nTurn the heap every two weeks.\n"


def document(**fields: Any) -> DocumentEvent:
    """A Markdown document."""
    named = {"event_id": "e", "tenant_id": "t", "document_id": "d", "media_type": "text/markdown"}
    return DocumentEvent.model_validate(named | fields)


def words(text: str) -> int:
    """A token is a word in these tests."""
    return len(text.split())


@pytest.mark.parametrize("fields", [{"body": MATTER + TEXT}, {"parts": [{"text": MATTER}, {"text": TEXT}]}])
def test_front_matter_is_context_and_not_text(fields: dict[str, Any]) -> None:
    """It is searched with the text, but not shown; offsets count it."""
    event = document(**fields)
    logged = LoggedEvent(event, 1, datetime(2026, 5, 2, tzinfo=UTC))
    (draft,) = drafts_of(logged, [], most_tokens=60, count_tokens=words)
    assert draft.text == TEXT.strip()
    assert (MATTER + TEXT)[draft.char_start : draft.char_end] == draft.text
    assert draft.context == "title: Compost\nauthor: Ines\ntags: garden, soil\nlinks:\nheap"


@pytest.mark.parametrize(
    "text",
    [
        "---\nA line between rules.\n---\nMore text.",
        "---\nNote: first\nthen a sentence that is none\n---\nMore text.",
        "---\ntitle: never ended\n",
        "---\n---\nnothing between",
        "title: no rule\n---\n",
        "",
    ],
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    """Rules around prose, front matter that does not end."""
    assert front_matter(text).end == 0


def test_a_document_of_front_matter_only_is_kept_as_text() -> None:
    """Else it would hold nothing that can be read."""
    (piece,) = document_pieces(document(body=MATTER), most_tokens=60, count_tokens=words)
    assert "author: Ines" in piece.text


def test_plain_text_has_no_front_matter() -> None:
    """Only Markdown has."""
    event = document(body=MATTER + TEXT, media_type="text/plain")
    assert document_pieces(event, most_tokens=60, count_tokens=words)[0].text.startswith("---")


def test_hostile_front_matter_is_read_in_bounded_time() -> None:
    """A hundred thousand lines without an end."""
    assert front_matter("---\n" + "key: value\n" * 100_000).end == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Run this once a week:\n```sh\nmake clean\n```\nIt takes a minute and removes every old report.",
            "semantic",
        ),
        ("Check:\n```python\nfor row in rows:\n    total += row.amount\n    print(total)\n```\n", "code"),
        (
            "The importer raises a ValueError where a line has no comma.\nSo check the export first.",
            "semantic",
        ),
        ("import os\nimport sys\n", "code"),
    ],
)
def test_a_document_is_code_if_most_of_it_is(text: str, expected: str) -> None:
    """A fence or the name of an error in a longer text does not make it code."""
    assert classify(document(body=text), text) == expected
