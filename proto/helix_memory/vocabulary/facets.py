"""The facets of a memory: which parts of its author's profile it states.

Ingest tells them of what users say about themselves; the profile of a user is made of such memories.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Facet = Literal[
    "identity",
    "background",
    "relationship",
    "preference",
    "constraint",
    "project",
    "plan",
    "task",
]

FACETS: Final[tuple[Facet, ...]] = get_args(Facet)
"""All facets. A generation stores them as bits, the first as bit 0, so add at the end only."""

STATIC_FACETS: Final[tuple[Facet, ...]] = (
    "identity",
    "background",
    "relationship",
    "preference",
    "constraint",
)
"""Facets of the static part of a profile, which lasts; the others are of the dynamic part."""
