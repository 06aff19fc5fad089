"""Writes the lines of a profile within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Final

from helix_query.generations.indexes.facet_index import DYNAMIC, PROFILE_PARTS, STATIC, ProfilePart
from helix_query.recall.user_profile.lines import ProfileLine, UserProfile

if TYPE_CHECKING:
    from datetime import tzinfo

    from helix_query.recall.user_profile.lines import MergedStatement

CountTokens = Callable[[str], int]

STATIC_SHARE: Final = 0.6
"""Share of the budget that the static part may take while the dynamic part has lines."""
HEADINGS: Final = {STATIC: "About the user:", DYNAMIC: "Going on:"}
MOST_LINES: Final = 99
"""Lines of a part at most, however large the budget."""


def laid_out(
    said: Sequence[MergedStatement], *, token_budget: int, count_tokens: CountTokens, zone: tzinfo | None
) -> UserProfile:
    """The best of `said` (best first) that fit; the text never has more than `token_budget` tokens.

    The dynamic part may use what the static part leaves, and the other way round.
    """
    named = len({one.statement.speaker for one in said} - {""}) > 1

    def fill(part: ProfilePart, room: int) -> int:
        """Add lines of a part until one does not fit; returns the room that is left."""
        for one in parts[part][len(chosen[part]) : MOST_LINES]:
            line = _line(one, zone, count_tokens, is_named=named)
            needed = line.tokens + (0 if chosen[part] else count_tokens(HEADINGS[part]))
            if needed > room:
                break
            chosen[part].append(line)
            room -= needed
        return room

    parts = {part: [one for one in said if one.statement.part is part] for part in PROFILE_PARTS}
    chosen: dict[ProfilePart, list[ProfileLine]] = {part: [] for part in PROFILE_PARTS}
    first = int(token_budget * STATIC_SHARE) if parts[DYNAMIC] else token_budget
    room = fill(DYNAMIC, token_budget - first + fill(STATIC, first))
    fill(STATIC, room)
    lines = [line for part in PROFILE_PARTS for line in chosen[part]]
    # tokenizers may count a whole differently from its parts
    while lines and (tokens := count_tokens(profile_text(lines))) > token_budget:
        lines.pop()
    if not lines:
        return UserProfile(left_out=len(said))
    return UserProfile(tuple(lines), profile_text(lines), tokens, len(said) - len(lines))


def profile_text(lines: Sequence[ProfileLine]) -> str:
    """The finished text; line n ends with its citation [pn]."""
    written: list[str] = []
    part = None
    for number, line in enumerate(lines, start=1):
        if line.said.statement.part is not part:
            part = line.said.statement.part
            written.append(HEADINGS[part])
        written.append(f"- {line.text} {line_citation(number)}")
    return "\n".join(written)


def line_citation(number: int) -> str:
    """Citation of a line; `[1]` is that of a memory."""
    return f"[p{number}]"


def _line(
    one: MergedStatement, zone: tzinfo | None, count_tokens: CountTokens, *, is_named: bool
) -> ProfileLine:
    shown = one.statement
    day = shown.occurred_at.astimezone(zone or UTC).date().isoformat()
    name = f"{shown.speaker}: " if is_named and shown.speaker else ""
    text = f"{name}{shown.text} ({day})"
    return ProfileLine(one, text, count_tokens(f"- {text} {line_citation(MOST_LINES)}"))
