"""Hints for a command that found nothing: who asked, and which time was asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_cli.output.terminal import note
from helix_shared.errors import HelixError, NotFoundError

if TYPE_CHECKING:
    from datetime import tzinfo

    from helix_memory.recall.v1 import recall_pb2
    from helix_memory.transport.recall_client import RecallClient

OWNED: Final = "without --user only what belongs to no user, or is shared, is found"
"""Said without asking whether there is more: who does not name a user must not learn that."""


def note_hints(
    client: RecallClient, request: recall_pb2.RecallRequest, reply: recall_pb2.RecallResponse, zone: tzinfo
) -> None:
    """Write to standard error what would find more, for a reply without memories."""
    if reply.memories or reply.route.skipped:
        return
    told = request.HasField("as_of") and _note_later(client, request, zone)
    if not (told or request.scope.user_id):
        note(f"hint: {OWNED}")


def with_owner_hint(error: NotFoundError, scope: recall_pb2.Scope) -> NotFoundError:
    """The error, with a hint if no user was named."""
    return error if scope.user_id else NotFoundError(f"{error}; {OWNED}")


def _note_later(client: RecallClient, request: recall_pb2.RecallRequest, zone: tzinfo) -> bool:
    """Name `--valid-at` if it finds something: what held then, whenever it was stored; whether it does."""
    other = type(request)()
    other.CopyFrom(request)
    other.ClearField("as_of")
    other.min_seq, other.explain, other.never_skip = 0, False, True
    if not other.HasField("valid_at"):
        other.valid_at.CopyFrom(request.as_of)
    try:
        found = len(client.recall(other).memories)
    except HelixError:
        return False
    if found:
        when = other.valid_at.ToDatetime(tzinfo=zone).isoformat(timespec="minutes")
        note(
            f"hint: Helix had stored nothing of this by then; --valid-at {when} also takes what was stored "
            f"later about what had happened and held then, and finds {found}"
        )
    return bool(found)
