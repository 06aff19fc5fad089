"""The memory types: what kind of statement a memory is.

Not in `events`, because its models take 50 ms to build.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

MemoryType = Literal["episodic", "semantic", "procedural", "decision", "code"]

MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)
"""All memory types. A generation stores the index of a type in this tuple, so add at the end only."""
