"""The predicates: relations between two entities that a memory states ("Ann works for Acme").

The graph has an edge from the memory to each side of a predicate.
"""

from __future__ import annotations

from typing import Final

PREDICATES: Final = (
    *(
        "WORKS_FOR",
        "MOVED_TO",
        "MOVED_FROM",
        "LIVES_IN",
        "LOCATED_IN",
        "BORN_IN",
        "REPLACED_BY",
        "DEPENDS_ON",
    ),
    *("OWNS", "MARRIED", "SUCCEEDED", "REPORTS_TO", "MEMBER_OF", "PARENT_OF", "FOUNDED", "CREATED"),
)
"""Relations between two entities that a memory states: "Ann works for Acme". Add at the end only."""
SUBJECT: Final = "_SUBJECT"
OBJECT: Final = "_OBJECT"
SIDES: Final = tuple(predicate + end for predicate in PREDICATES for end in (SUBJECT, OBJECT))
"""Edges of a memory to both entities of a predicate, for example WORKS_FOR_SUBJECT and WORKS_FOR_OBJECT."""
