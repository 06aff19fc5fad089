"""The search after an erasure: is something of what was erased left in a file, a stream or a bucket?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix_cli.output.terminal import note
from helix_cli.residue.buckets import residue_in_buckets
from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_cli.residue.stored import rows_left
from helix_memory.transport.polling import poll

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from helix_cli.residue.found import Residue
    from helix_memory.transport.credentials import NatsCredentials

VERIFIED_SECONDS: Final = 30.0
"""How long a search is repeated where something is found."""


def searched(
    before: list[dict[str, Any]],
    home: Path,
    after: list[dict[str, Any]],
    *,
    buckets: Sequence[str],
    in_streams: Callable[[Canaries], Residue],
    credentials: NatsCredentials | None,
) -> dict[str, Any]:
    """How many erased texts were searched for, and how often they were found in which place.

    `before` and `after` are the rows of the tenant around the erasure, `in_streams` searches the streams, and
    `credentials` open `buckets` of NATS. Where something is found, the search is repeated for a while: a
    server rewrites files, and readers let old generations go.
    """
    gone, unique = rows_left(before, after)
    if len(gone) > len(unique):
        note(f"{len(gone) - len(unique)} texts are too short or said by others too: not searched for")
    canaries = Canaries.of_rows(unique)

    def of_buckets() -> Residue:
        return residue_in_buckets(buckets, canaries, credentials=credentials)

    def of_home() -> Residue:
        return residue_in_files(home, canaries) + in_streams(canaries)

    outside = of_buckets()
    found = of_home() + outside
    for _ in poll(VERIFIED_SECONDS, every_seconds=1.0) if found else ():
        # a search of buckets downloads them
        outside = of_buckets() if outside else outside
        found = of_home() + outside
        if not found:
            break
    residue = {"residue": dict(found.counts), "unread": found.unread}
    return {"searched": len(unique), "buckets": buckets} | residue
