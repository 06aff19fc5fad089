"""Lines of `helix status` about object storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helix_cli.clients.query_status import ReplicaStatus
    from helix_shared.artifacts.object_storage.record import UploadRecord

_MEGABYTE: Final = 1_000_000


def upload_line(record: UploadRecord) -> str:
    """What the writer of this data folder uploaded last, and why nothing newer."""
    if record.uploaded_at is None or record.published_at is None:
        line = f"bucket {record.url}  nothing uploaded yet"
    else:
        took = (record.uploaded_at - record.published_at).total_seconds()
        line = (
            f"bucket {record.url}  generation {record.generation}, there {took:.1f} s after its publication, "
            f"{record.uploaded_bytes / _MEGABYTE:.1f} MB in {record.uploaded_parts} parts, "
            f"{record.skipped_parts} parts were there"
        )
    return f"{line}\n       not uploaded: {record.problem}" if record.problem else line


def replica_line(replica: ReplicaStatus, generation: int) -> str:
    """How far a replica is behind the bucket, and why."""
    line = f"replica of {replica.bucket}, newest there {replica.newest}"
    if replica.newest > generation:
        line += f", {replica.newest - generation} behind"
    return f"{line}\n       not pulled: {replica.problem}" if replica.problem else line
