"""A window: consecutive turns of one session and one audience that are asked about together.

A window is full with `characters` or `turns`, and closes `seconds` after its first turn was stored. It also
ends where the scope changes, because a statement extracted from several turns must not reach anybody who may
not recall each of them. A turn without a session is a window of its own: the turns around it are other
conversations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from helix_memory.events import MessageEvent
from helix_shared.published import Published
from helix_shared.text.flags import holds_secret


@dataclass(frozen=True, slots=True)
class Turn(Published[MessageEvent]):
    """A message event with its position in the log."""

    @property
    def source_class(self) -> str:
        """Class of the source: user, tool or agent."""
        return {"user": "user", "tool": "tool"}.get(self.event.role, "agent")


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """When a window is complete."""

    characters: int = 2_000
    turns: int = 10
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Window:
    """One or more turns, oldest first."""

    turns: tuple[Turn, ...]

    @property
    def last(self) -> Turn:
        """The turn whose handler asks."""
        return self.turns[-1]

    def quoted_by(self, turn: Turn) -> list[str]:
        """Ids of the events that a statement of `turn` may quote: the other turns that the model read."""
        own = turn.event.event_id
        return list(dict.fromkeys(one.event.event_id for one in self.turns if one.event.event_id != own))

    def without_secrets(self) -> Window | None:
        """The turns that hold no credential, as no other is sent to the model; None: all of them do."""
        turns = tuple(turn for turn in self.turns if not holds_secret(turn.event.text))
        return Window(turns) if turns else None

    def is_full(self, limits: WindowLimits) -> bool:
        """Whether no further turn is taken, whenever it comes."""
        if not self.last.event.session_id:
            return True
        characters = sum(len(turn.event.text) for turn in self.turns)
        return len(self.turns) >= limits.turns or characters >= limits.characters

    def closes_at(self, limits: WindowLimits) -> datetime:
        """A turn stored at this time or later is not taken."""
        return self.turns[0].stored_at + timedelta(seconds=limits.seconds)

    def takes(self, turn: Turn, limits: WindowLimits) -> bool:
        """Whether `turn`, the next one of the session, belongs to this window."""
        is_open = not self.is_full(limits) and turn.stored_at < self.closes_at(limits)
        return is_open and turn.scope == self.last.scope


def extended(window: Window | None, turns: Iterable[Turn], limits: WindowLimits) -> Window | None:
    """The window of the last of `turns`, which follow the last turn of `window`; None without any turn."""
    for turn in turns:
        if window is not None and window.takes(turn, limits):
            window = Window((*window.turns, turn))
        else:
            window = Window((turn,))
    return window


def is_boundary(before: Turn, after: Turn, limits: WindowLimits) -> bool:
    """Whether two consecutive turns are never in one window, whatever came before them."""
    apart = (after.stored_at - before.stored_at).total_seconds() >= limits.seconds
    return apart or before.scope != after.scope or not after.event.session_id
