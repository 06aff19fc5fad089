"""What was erased, taken over from the generation whose place is taken.

The log has lost what was erased. Without the ids of before, an erased event that is published again would be
a memory again; without the receipts nobody could show them; without the work that is left, copies stay.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from helix_cli.output.terminal import note
from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_consolidation.stores.erased_before import remember_erased, take_over_erasures
from helix_shared.errors import CorruptArtifactError, PermanentError
from helix_shared.event_log.archive_card import logs_before

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helix_cli.rebuilding.served import Served
    from helix_consolidation.stores.shard import Shard

_UNREADABLE: Final = (CorruptArtifactError, OSError, ValueError, KeyError, TypeError)


def logs_of(data: Path, created: str) -> list[str]:
    """When the log was created, and those before whose sequences it continues (`helix archive restore`).

    Sequences of another log mean something else. An archive that cannot be read tells of none.
    """
    try:
        return [created, *logs_before(data / ARCHIVE)]
    except (CorruptArtifactError, PermanentError):
        return [created]


def begin_with_erased(shard: Shard, served: Served, logs: Sequence[str]) -> None:
    """Let the replay know the erased ids: the log may hold an erased event that was published again."""
    if not _is_of(served, logs):
        return
    try:
        remember_erased(shard.state, served.folder)
    except _UNREADABLE as error:
        _say(error)


def end_with_erasures(shard: Shard, served: Served, logs: Sequence[str]) -> None:
    """Before the stores are published: also what was erased meanwhile, receipts, and what is left to do."""
    if not _is_of(served, logs):
        return
    try:
        take_over_erasures(shard, served.folder)
    except _UNREADABLE as error:
        _say(error)


def _say(error: Exception) -> None:
    note(
        f"erasures of before cannot be read ({error}): their receipts are gone, and an erased event that is "
        "published again is a memory again"
    )


def _is_of(served: Served, logs: Sequence[str]) -> bool:
    stream = served.stated.get("stream")
    stated = stream.get("created_at") if isinstance(stream, dict) else None
    try:
        return datetime.fromisoformat(str(stated)) in map(datetime.fromisoformat, logs)
    except ValueError:
        return False
