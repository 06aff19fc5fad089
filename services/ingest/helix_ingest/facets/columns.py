"""The columns of the memories edge that hold the facets of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helix_ingest.facets.find import facets_of


def facet_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """`facets` and `facet_spans` of a row, which has all other columns of `edges.memories_schema`.

    A correction has the source class of the memory it corrects, which ingest does not know: its text is read
    as a user's, and the reader of a profile looks at the class.
    """
    starts = row["event_start"]
    found = facets_of(
        row["text"],
        source_class="user" if row["corrects"] else row["source_class"],
        speech_act=row["speech_act"],
        ahead_of=row["occurred_at"] if starts is not None and starts > row["occurred_at"] else None,
        is_answer=bool(row["derived_from"]),
    )
    return {
        "facets": [one.facet for one in found],
        "facet_spans": [offset for one in found for offset in (one.start, one.end)],
    }
