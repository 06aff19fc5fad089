"""Copies of generations outside the data folder, as the shard sees them; `uploading` makes them."""

from __future__ import annotations

from typing import Protocol


class Copies(Protocol):
    """The copies of one data folder's generations."""

    def erase_before(self, generation: int) -> None:
        """Remove those with a lower number, in the background."""

    def is_clean_before(self, generation: int) -> bool:
        """Whether none of them is left."""
