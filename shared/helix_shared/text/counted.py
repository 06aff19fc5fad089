"""Counts of sessions and entities for people."""

from __future__ import annotations

from helix_memory import limits


def counted(memories: int) -> str:
    """How many memories a session or an entity has; the greatest count of a list stands for all above it."""
    return f"{memories:,} or more" if memories >= limits.GROUP_MEMORIES else f"{memories:,}"
