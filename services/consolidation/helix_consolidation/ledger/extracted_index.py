"""The extracted statements of each verbatim memory, and the windows that gave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class ExtractedIndex:
    """By ordinal; a statement has one source and one window, the last event of which names it."""

    _source: dict[int, int] = field(default_factory=dict)
    _window: dict[int, int] = field(default_factory=dict)
    _from_source: dict[int, set[int]] = field(default_factory=dict)
    _from_window: dict[int, set[int]] = field(default_factory=dict)
    touched: set[int] = field(default_factory=set)
    """Memories whose statements, or whose relations, changed in this batch."""

    def touch(self, ordinal: int) -> None:
        """Note a memory around which decisions are made again; without any statement nothing is noted."""
        if self._source:
            self.touched.add(ordinal)

    def add(self, ordinal: int, source: int, window: int) -> None:
        """Add a statement, or another version of it."""
        self.remove(ordinal)
        self._source[ordinal], self._window[ordinal] = source, window
        self._from_source.setdefault(source, set()).add(ordinal)
        self._from_window.setdefault(window, set()).add(ordinal)

    def remove(self, ordinal: int) -> None:
        """Drop a statement; any other ordinal is ignored."""
        if ordinal not in self._source:
            return
        for table, key in ((self._from_source, self._source), (self._from_window, self._window)):
            others = table[key[ordinal]]
            others.discard(ordinal)
            if not others:
                del table[key[ordinal]]
            del key[ordinal]

    def source_of(self, ordinal: int) -> int | None:
        """Ordinal of the verbatim memory of a statement; None where `ordinal` is no extracted statement."""
        return self._source.get(ordinal)

    def of_window(self, window: int) -> set[int]:
        """Statements of the window that ends with the event of this sequence."""
        return set(self._from_window.get(window, ()))

    def of_sources(self, ordinals: Iterable[int]) -> set[int]:
        """Statements extracted from any of these memories."""
        return {statement for ordinal in ordinals for statement in self._from_source.get(ordinal, ())}

    def among(self, ordinals: Iterable[int]) -> set[int]:
        """Those of `ordinals` that are statements."""
        return {ordinal for ordinal in ordinals if ordinal in self._source}
