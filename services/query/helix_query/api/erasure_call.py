"""The task of one GetErasure call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection


def erasure_reply(
    event_id: str, selection: Selection, snapshot: Snapshot, _lanes: Mapping[str, Executor]
) -> recall_pb2.GetErasureResponse:
    """The receipt of an erasure on one generation.

    Raises:
        NotFoundError: there is no such erasure, it was not carried out yet, or another scope asked for it.
    """
    tenant = selection.tenant_id
    receipt = snapshot.generation.erasures.find(tenant, event_id)
    if receipt is None or not receipt.is_for(tenant, selection.user_id, selection.principals):
        raise NotFoundError(f"no erasure {event_id} of this scope was carried out yet")
    places = [
        recall_pb2.ErasedPlace(name=name, count=place.count, generation=place.generation)
        for name, place in receipt.places.items()
    ]
    return recall_pb2.GetErasureResponse(
        sequence=receipt.sequence,
        places=places,
        complete=receipt.is_complete,
        generation=snapshot.number,
    )
