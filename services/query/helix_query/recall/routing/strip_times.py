"""A query without the times it names.

Memories that answer "which port did we use in October 2023" need not contain "October".
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from helix_query.recall.query_text import read_query
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.timex import find_time_expressions

_ANY_EVENT: Final = frozenset(
    stems(
        "happen happened happening go going went do did done doing say said tell told talk talked discuss "
        "discussed mention mentioned event events news new thing things everything anything something plan "
        "plans planned summary summarize summarise recap overview list show give remind week day month year "
        "work on get got"
    )
)
"""Words that name no thing: they ask for whatever there was at a time."""

_ASKS_FOR_ONE: Final = re.compile(
    r"\b(?:who|whos|whom|whose|where|wheres|which|why|how (?:many|much|long|often|far|old|big|late))\b",
    re.IGNORECASE,
)
"""Words that ask for a person, a place, a reason or a number: the answer has to name one."""


def strip_times(query: str, now: datetime) -> str:
    """`query` without its time expressions; unchanged if no letters are left."""
    stripped = query
    for expression in sorted(find_time_expressions(query, now), key=lambda found: -found.span[0]):
        start, end = expression.span
        stripped = f"{stripped[:start]} {stripped[end:]}"
    return stripped if any(character.isalpha() for character in stripped) else query


def asks_for_time_alone(query: str, now: datetime) -> bool:
    """Whether a query names a time and nothing else to look for ("what happened last week?")."""
    read = read_query(query)
    rest = strip_times(read, now)
    if _ASKS_FOR_ONE.search(rest):
        return False
    return rest != read and _ANY_EVENT.issuperset(stems(rest))
