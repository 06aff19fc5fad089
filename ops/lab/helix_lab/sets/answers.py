"""Answers of an engine: one `Answer` per question, one `Run` per engine or ranking profile.

The two paths and the peers make them; metrics, reports and tests read them. Ids are the set's own; handles
are translated back before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one question."""

    question_id: str
    ranking: tuple[str, ...]
    """Document ids, best first, none twice: several pieces of one rank as the best of them."""
    milliseconds: float
    """Time that the caller waited."""
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds of each stage in the order they ran; empty where an engine does not tell."""
    skipped: bool = False
    """The router found that no memory is needed."""
    packed: tuple[str, ...] = ()
    """Documents whose text the packed context holds; empty where an engine packs none."""
    packed_tokens: int = 0
    packed_within: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Documents in the packed context by token budget; empty where they were not measured."""
    confidence: float = 0.0
    """How certain the engine is that it answers; comparable across the questions of one run."""


@dataclass(frozen=True, slots=True)
class Run:
    """All answers of one engine, or of one ranking profile, to one set."""

    set_name: str
    name: str
    answers: tuple[Answer, ...]

    @property
    def by_question(self) -> dict[str, Answer]:
        """Answers by question id."""
        return {answer.question_id: answer for answer in self.answers}
