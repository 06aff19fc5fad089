"""Source classes: who or what a memory comes from. A class passes to what is derived and never rises."""

from __future__ import annotations

from typing import Final

SOURCE_CLASSES: Final = ("agent", "tool", "document", "user")
"""Least trusted first: what is made from several sources has the first of their classes."""

CONVERSATION: Final = frozenset(["user", "agent"])
"""Classes of what people and their assistants say to each other; the others report what they hold."""


def least_trusted(*classes: str) -> str:
    """The least trusted of `SOURCE_CLASSES`; raises ValueError for another name."""
    return min(classes, key=SOURCE_CLASSES.index)
