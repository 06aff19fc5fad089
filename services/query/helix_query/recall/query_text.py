"""The text of a query as rules read it: its beginning, evenly written."""

from __future__ import annotations

from typing import Final

from helix_shared.text.apostrophes import with_apostrophes

QUERY_CHARACTERS: Final = 600
"""Characters of a query that rules read; what follows is supplied text."""


def read_query(query: str) -> str:
    """The first `QUERY_CHARACTERS` of a query, words one space apart, all apostrophes there and straight."""
    return with_apostrophes(" ".join(query[:QUERY_CHARACTERS].replace("\u2019", "'").split()))
