"""Folding expansions and links: what doc2query and kg say of a memory.

They count for the version of the row that came of the same event. A message that speaks of a
memory which is not here yet is asked for again; nothing of it is applied before. When its event is answered
and the memory is not here, it was erased or refused, and nothing is waited for.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.tombstones import scope_code
from helix_shared.artifacts.graph_snapshot import Link
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding import Folding
    from helix_shared.edges import Origin

ON_ITS_WAY_SECONDS: Final = 0.5


def fold_expansions(folding: Folding, origin: Origin, rows: list[dict[str, Any]]) -> None:
    """Fold one expansions message.

    Raises:
        TemporaryError: one of its memories is not here yet.
    """
    ordinals = _ordinals(folding, origin, {row["memory_id"] for row in rows})
    for row in rows:
        ordinal = ordinals[row["memory_id"]]
        if ordinal is not None:
            folding.changes.expand(ordinal, row["expansions"])


def fold_links(folding: Folding, origin: Origin, rows: list[dict[str, Any]]) -> None:
    """Fold one links message; together its rows are all the links of their memories.

    Raises:
        TemporaryError: one of its memories is not here yet.
    """
    ordinals = _ordinals(folding, origin, {row["memory_id"] for row in rows})
    links: dict[int, list[Link]] = defaultdict(list)
    for row in rows:
        ordinal = ordinals[row["memory_id"]]
        if ordinal is not None:
            links[ordinal].append(
                Link(
                    edge=row["edge"],
                    kind=row["kind"],
                    name=row["name"],
                    surface=row["surface"],
                    weight=row["weight"],
                )
            )
    folding.changes.links.update(links)


def _ordinals(folding: Folding, origin: Origin, memory_ids: Iterable[str]) -> dict[str, int | None]:
    """Ordinals of the rows that came of the same event; None for what is erased or another version."""
    known = folding.known
    found: dict[str, int | None] = {}
    for memory_id in memory_ids:
        ordinal = folding.find(origin.tenant_id, memory_id)
        stream = None if ordinal is None else known.ledger.sequences(ordinal)[0]
        is_dropped = known.tombstones.is_dropped(scope_code(origin.tenant_id, "memory", memory_id))
        is_awaited = origin.event_sequence not in known.applied and not is_dropped
        if is_awaited and (stream is None or stream > origin.event_sequence):
            raise TemporaryError(
                f"{origin.edge} of event {origin.event_sequence} came before their memory {memory_id}",
                delay_seconds=ON_ITS_WAY_SECONDS,
            )
        found[memory_id] = ordinal if stream == origin.event_sequence else None
    return found
