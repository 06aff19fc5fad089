"""What a question is about, apart from when: its words without the time it names.

"Which port did we use in October 2023" is a question about the port; memories need not say "October".
"""

from __future__ import annotations

from datetime import datetime

from helix_shared.timex import find_time_expressions


def strip_times(query: str, now: datetime) -> str:
    """`query` without its time expressions, unless nothing else is left."""
    kept = query
    for expression in sorted(find_time_expressions(query, now), key=lambda found: -found.span[0]):
        start, end = expression.span
        kept = f"{kept[:start]} {kept[end:]}"
    return kept if any(character.isalpha() for character in kept) else query
