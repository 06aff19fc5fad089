"""A query without the times it names.

Memories that answer "which port did we use in October 2023" need not contain "October".
"""

from __future__ import annotations

from datetime import datetime

from helix_shared.timex import find_time_expressions


def strip_times(query: str, now: datetime) -> str:
    """`query` without its time expressions; unchanged if no letters are left."""
    stripped = query
    for expression in sorted(find_time_expressions(query, now), key=lambda found: -found.span[0]):
        start, end = expression.span
        stripped = f"{stripped[:start]} {stripped[end:]}"
    return stripped if any(character.isalpha() for character in stripped) else query
