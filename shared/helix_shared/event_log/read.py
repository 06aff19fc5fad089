"""Events of an archive or of an export, in the order of the log: what a rebuild without NATS reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helix_shared.event_log.archive_files import entries_of
from helix_shared.event_log.export_file import EVENT, ExportReader
from helix_shared.event_log.record import EventRecord


def records_of(path: Path) -> Iterator[EventRecord]:
    """Every event in the folder of an archive or in the file of an export.

    An export is compared with its trailer when its last event was taken; who must have nothing of a damaged
    file reads it twice.

    Raises:
        CorruptArtifactError: it is damaged.
    """
    if path.is_dir():
        yield from (entry for entry in entries_of(path) if isinstance(entry, EventRecord))
        return
    with path.open("rb") as source:
        yield from (line.record for line in ExportReader(source, str(path)).lines() if line.kind == EVENT)
