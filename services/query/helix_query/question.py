"""What is asked of a recall, and what comes back: the values at its two ends.

`request` makes questions, `reply` turns answers into protobuf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_query.pool import Packed, Route

if TYPE_CHECKING:
    from datetime import datetime

    from helix_shared.artifacts.selection import Selection


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, by whom, when; checked already."""

    query: str
    selection: Selection
    now: datetime
    profile: str = "helix"
    mode: str = "hybrid"
    """hybrid, dense or auto."""
    top_k: int | None = None
    token_budget: int | None = None
    project_id: str = ""
    never_skip: bool = False


@dataclass(frozen=True, slots=True)
class RecalledRow:
    """One memory of an answer."""

    row: Mapping[str, Any]
    entities: tuple[str, ...]
    score: float
    cosine: float
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer, best first."""

    route: Route
    seconds: tuple[tuple[str, float], ...]
    rows: tuple[RecalledRow, ...] = ()
    packed: Packed = Packed()  # noqa: RUF009 - frozen, so one empty value serves all
    degraded: tuple[str, ...] = ()
