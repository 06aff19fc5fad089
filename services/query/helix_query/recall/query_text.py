"""The text of a query as rules read it: its beginning, evenly written."""

from __future__ import annotations

from typing import Final

QUERY_CHARACTERS: Final = 600
"""Characters of a query that rules read; what follows is supplied text."""


def read_query(query: str) -> str:
    """The first `QUERY_CHARACTERS` of a query, apostrophes straight, words one space apart."""
    return " ".join(query[:QUERY_CHARACTERS].replace("\u2019", "'").split())
