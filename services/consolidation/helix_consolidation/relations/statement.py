"""Input and output of a decision: a statement, its candidates, and how it relates to each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_shared.artifacts.relations.records import RelationKind

REVIVES: Final = "revives"
"""Evidence: the value of the older statement holds again."""
RETRACTS: Final = "takes_back"
"""Evidence: the older statement was not meant or was undone; what it says of earlier ones does not count."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One memory as a decision sees it. Times are microseconds since 1970; empty strings mean "not set"."""

    text: str
    vector: NDArray[np.float32]
    """Vector of the memory's row, length one."""
    title: str = ""
    context: str = ""
    """Turns before it, one line each with the speaker in front; the last line is the turn it follows."""
    speaker: str = ""
    role: str = ""
    speech_act: str = "statement"
    """One of `helix_memory.vocabulary.speech_acts.SPEECH_ACTS`."""
    source_class: str = "user"
    type: str = "episodic"
    entities: tuple[str, ...] = ()
    """Canonical names found in `text` by `helix_shared.naming`."""
    session: int = 0
    """Code of the session; equal codes mean the same session, 0 none."""
    occurred_at: int = 0
    event_start: int | None = None
    event_end: int | None = None
    about: str = ""
    """Whom it is about, a word of `helix_shared.about`; empty: it is not sure."""
    is_derived: bool = False
    """Resolved from a verbatim memory ("question answer" in one text)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An earlier statement that the new one may relate to."""

    statement: Statement
    exact: bool = False
    """Same content hash."""
    jaccard: float = 0.0
    """Estimated share of equal shingles (MinHash), 0 to 1; 0 where it was not compared."""
    lexical: float = 0.0
    """Rarity-weighted share of the new statement's words that the earlier one contains, 0 to 1."""
    cosine: float = 0.0
    """Cosine of the two vectors."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The new statement relates to one candidate."""

    older: int
    """Index of the candidate."""
    relation: RelationKind
    probability: float
    """That the relation holds, 0 to 1."""
    closes: bool = False
    """The older statement stops holding: `UPDATES` with near certainty."""
    evidence: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """What spoke for it, by name of the feature or rule."""
    unsure: bool = False
    """A verdict of a language model may move the probability, see `unsure`."""
    closable: bool = False
    """The rules permit closing; the probability does not reach."""

    @property
    def revives(self) -> bool:
        """Whether the value of the older statement holds again."""
        return REVIVES in self.evidence

    @property
    def retracts(self) -> bool:
        """Whether the older statement was not meant, or what it says was undone."""
        return RETRACTS in self.evidence
