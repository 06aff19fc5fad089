"""Rows of what users state of themselves."""

from datetime import datetime
from typing import Any

from helix_ingest.facets.find import facets_of


def with_facets(
    text: str, *, source_class: str = "user", ahead_of: datetime | None = None, **fields: Any
) -> dict[str, Any]:
    """A row with this text, the facets that ingest tells of it, and other fields."""
    found = facets_of(text, source_class=source_class, ahead_of=ahead_of)
    return {
        "text": text,
        "facets": [one.facet for one in found],
        "facet_spans": [offset for one in found for offset in (one.start, one.end)],
        **fields,
    }
