"""The beginning of a query in the form that rules read: single spaces, straight apostrophes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from helix_shared.text.apostrophes import with_apostrophes

QUERY_CHARACTERS: Final = 600
"""Characters of a query that rules read; what follows is supplied text."""
READ_QUERIES: Final = 256
"""Queries whose text is cached: a recall reads it a dozen times."""


def read_query(query: str) -> str:
    """The first `QUERY_CHARACTERS` of a query, words one space apart, all apostrophes there and straight."""
    return _read(query[:QUERY_CHARACTERS])


@lru_cache(READ_QUERIES)
def _read(beginning: str) -> str:
    return with_apostrophes(" ".join(beginning.replace("\u2019", "'").split()))
