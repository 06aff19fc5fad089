"""The log that an archive belongs to: `archive.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from helix_shared.artifacts.files.durability import sync
from helix_shared.errors import RESTORE_LOG, CorruptArtifactError, PermanentError
from helix_shared.event_log.archive_files import CARD, FORMAT, VERSION, read_card
from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def logs_before(folder: Path) -> list[str]:
    """When earlier logs were created whose sequences the log of this archive continues; none without archive.

    Raises:
        CorruptArtifactError: the card cannot be read.
    """
    found = read_card(folder).get("earlier") if (folder / CARD).is_file() else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def continue_as(folder: Path, log: str) -> None:
    """Let an archive be that of another log, which was given its events with their sequences; nobody writes.

    Raises:
        CorruptArtifactError: it has no card, or one that cannot be read.
    """
    card = read_card(folder)
    if card["log"] == log:
        return
    earlier = [*logs_before(folder), card["log"]]
    _write(folder, {**card, "log": log, "earlier": earlier})


def claim(folder: Path, log: str) -> None:
    """Make a new folder the archive of a log.

    Raises:
        CorruptArtifactError: it has segments and no card, or one that cannot be read.
        PermanentError: it is the archive of another log, or of a later format.
    """
    if not (folder / CARD).exists():
        if any(folder.glob("*.log")):
            raise CorruptArtifactError(f"{folder / CARD} is missing")
        _write(folder, {"format": FORMAT, "version": VERSION, "log": log})
    found = read_card(folder)
    if found.get("log") != log:
        raise PermanentError(
            f"{folder} is the archive of a log that was created at {found.get('log')}, not at {log}; "
            f"use the stream's own data folder. If the stream was lost, {RESTORE_LOG}"
        )


def _write(folder: Path, card: dict[str, object]) -> None:
    """Write the card whole: a part of one, as of a full disk, would be a damaged archive for ever."""
    write_whole(folder / CARD, json.dumps(card).encode(), synced=True)
    sync(folder)
