"""What a question to the language model is about, as one line of JSON: data, never instructions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from helix_deep.questions.kinds import PREFERENCE, TEMPORAL


@dataclass(frozen=True, slots=True)
class Subject:
    """The user's question, and what is known about it."""

    text: str
    day: str
    """Date on which it is asked, YYYY-MM-DD."""
    kinds: frozenset[str] = frozenset()
    """Of `kinds.KINDS`."""
    names: tuple[str, ...] = ()
    """Names in the question."""
    profile: tuple[str, ...] = ()
    """What the user said about themself; for preferences alone."""
    is_simple: bool = False
    """Whether one memory answers it in nearly the same words."""

    @property
    def is_temporal(self) -> bool:
        """Whether it asks for times or their order."""
        return TEMPORAL in self.kinds

    @property
    def is_preference(self) -> bool:
        """Whether it asks for advice, which the user's own statements decide."""
        return PREFERENCE in self.kinds

    def line(self) -> str:
        """One line of JSON with what is known."""
        known: dict[str, object] = {"question": self.text, "date": self.day}
        if self.names:
            known["names"] = self.names
        if self.profile:
            known["profile"] = self.profile
        return json.dumps(known, ensure_ascii=False)
