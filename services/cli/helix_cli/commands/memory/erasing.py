"""The question before an erasure: what goes, and whether it shall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix_cli.commands.memory.state import short
from helix_cli.output.confirmation import ask_for_word
from helix_cli.output.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_cli.commands.memory.state import Seen

ASKED_WORD: Final = "erase"
SHOWN: Final = 10
"""Memories whose texts are shown."""
SHOWN_CHARACTERS: Final = 80


def ask_before_erasing(given: Mapping[str, Any], found: Sequence[Seen], *, tenant: str, user: str) -> None:
    """Show what an erase event with the fields `given` selects, and have the word typed.

    `found` are the memories that it names, as far as they could be read. Raises as `ask_for_word`.
    """
    of = f"of tenant {tenant}" + (f" and user {user}" if user else "")
    if ids := given.get("memory_ids"):
        texts = {one.memory_id: one.text for one in found}
        lines = [
            f"  {short(one)}  {one_line(texts.get(one, ''), characters=SHOWN_CHARACTERS)}"
            for one in ids[:SHOWN]
        ]
        more = [f"  and {len(ids) - SHOWN} more"] if len(ids) > SHOWN else []
        what = f"These memories {of} will be erased for good, with all else that came of their events:"
        warning = "\n".join([what, *lines, *more])
    else:
        [(name, value)] = given.items()
        warning = f"Every memory of {name.removeprefix('of_')} {value}, {of}, will be erased for good."
    ask_for_word(warning, ASKED_WORD, option="--yes")
