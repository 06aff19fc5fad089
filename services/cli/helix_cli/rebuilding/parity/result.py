"""The result of a comparison: a section for each kind of content, with the first differences by id."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

EXAMPLES: Final = 20
"""Differences that a section lists; it counts all."""
VALUE_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class Difference:
    """One value of one memory, before and after, as text."""

    memory_id: str
    field: str
    before: str
    after: str


@dataclass(slots=True)
class Section:
    """One kind of content; `compared` and `different` count memories, of "memories" ids."""

    name: str
    compared: int = 0
    different: int = 0
    explained: int = 0
    """Of the different ones, those whose relations were decided beside a memory that is erased since."""
    note: str = ""
    """What is known of the differences, or of what was not compared."""
    examples: list[Difference] = field(default_factory=list)

    def example(self, memory_id: str, name: str, before: object, after: object) -> None:
        """List a difference, while there is room."""
        if len(self.examples) < EXAMPLES:
            self.examples.append(Difference(memory_id, name, _short(before), _short(after)))


@dataclass(slots=True)
class Parity:
    """Two generations side by side; without sections nothing could be compared."""

    before: int
    """Number of the older generation; 0: there is none."""
    up_to: int = 0
    """Sequence of the last event that both have applied; compared is what follows from events up to it."""
    not_compared: str = ""
    """Why nothing was compared; empty: it was."""
    changed: list[str] = field(default_factory=list)
    """Versions, settings or models in which the two were made differently: any memory may differ."""
    reasons: list[str] = field(default_factory=list)
    """What else makes memories differ, and no id go."""
    unfinished: int = 0
    """Events that the older one has applied in part; their memories are left out."""
    missing: int = 0
    """Ids of the older one that the newer one lacks, without what follows after the step."""
    sections: list[Section] = field(default_factory=list)

    @property
    def is_total(self) -> bool:
        """Whether everything was compared, and is the same."""
        return not self.not_compared and not any(section.different for section in self.sections)

    @property
    def refuses(self) -> bool:
        """Whether a difference remains that nothing explains."""
        if self.not_compared or self.is_total or self.changed:
            return False
        is_explained = all(section.different == section.explained for section in self.sections)
        return bool(self.missing) or not (self.reasons or is_explained)

    def as_json(self) -> dict[str, Any]:
        """Plain values, with the verdict."""
        return asdict(self) | {"total": self.is_total, "refused": self.refuses}


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"
