"""Memory rows as kg reads them."""

from __future__ import annotations

from typing import Any


def row(text: str, **fields: Any) -> dict[str, Any]:
    """A memory row of this text."""
    return {
        "memory_id": "m",
        "text": text,
        "title": "",
        "context": "",
        "speaker": "",
        "role": "",
        "user_id": "",
        "speech_act": "statement",
        "document_id": "",
        "categories": [],
        **fields,
    }
