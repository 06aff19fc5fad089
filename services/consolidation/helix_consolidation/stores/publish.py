"""Publish what was applied as the next generation.

The lease is checked right before, and a writer whose epoch is lower than that of the last generation never
publishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.lifecycle.tombstone_log import Table
from helix_consolidation.ledger.usage_facts import decayed_count
from helix_consolidation.stores.relation_state import save_relations
from helix_consolidation.stores.state_files import save_state
from helix_consolidation.usage.learned import remove_fitted_with_erased
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.learned_adapters import has_withheld
from helix_shared.errors import PermanentError
from helix_shared.shard_map import ONLY_SHARD, SHARD_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from helix_consolidation.ledger.consolidation_state import ConsolidationState, Model
    from helix_shared.artifacts.generation.live_stores import Live
    from helix_shared.shard_map import ShardPlace

_ERASURES: Final = (Table.ERASED, Table.ERASED_MEMORIES)


@dataclass(frozen=True, slots=True)
class PublicationInfo:
    """What a manifest states besides the content of its generation."""

    epoch: int
    stream: StreamState
    now: datetime


def publish_generation(
    root: Path,
    live: Live,
    state: ConsolidationState,
    parent: Manifest | None,
    info: PublicationInfo,
    *,
    ensure_lease: Callable[[], None],
    anew_after: int | None = None,
    made_with: Mapping[str, str] = MappingProxyType({}),
    place: ShardPlace = ONLY_SHARD,
) -> Manifest:
    """Commit the lexicon, and publish the live stores with the state.

    `anew_after`: the stores were built anew, share nothing with any generation of `root`, and become the one
    after this. `made_with` is what this process makes generations with, `place` their shard.
    After an erasure, query adapters that were fitted with what it erased are removed.

    Raises:
        LostLeaseError: another writer may be active; nothing was published.
        PermanentError: a later writer published already.
        CorruptArtifactError: the stores disagree; nothing was published.
        TemporaryError: the lexicon was merging; try again.
    """
    if state.model is None:
        raise PermanentError(
            "nothing can be published before the first memories message names its model; wait for it"
        )
    if parent is not None and info.epoch < parent.epoch:
        raise PermanentError(
            f"lease of epoch {info.epoch} is older than generation {parent.generation} of epoch "
            f"{parent.epoch}: another writer took over; restart to stand by"
        )
    # kept over a publication that fails, which takes the changes all the same
    state.are_adapters_unchecked |= any(one.table in _ERASURES for one in state.tombstones.changes)
    live.lexicon.commit()
    for name, version in made_with.items():
        state.made_with.setdefault(name, set()).add(version)
    manifest = _manifest(state, state.model, parent, info)
    if anew_after is not None:
        manifest = manifest.model_copy(update={"generation": anew_after + 1, "origin": anew_after + 1})
    ensure_lease()
    extras = save_state(state, live.folder) | save_relations(state, live.folder)
    if not place.is_only:
        extras[SHARD_FILE] = place.encoded()
    published = publish(root, live, manifest, extras=extras)
    if state.are_adapters_unchecked or has_withheld(root):
        remove_fitted_with_erased(root, state.tombstones)
        state.are_adapters_unchecked = False
    return published


def _manifest(
    state: ConsolidationState, model: Model, parent: Manifest | None, info: PublicationInfo
) -> Manifest:
    ledger = state.ledger
    previous = 0 if parent is None else parent.generation
    return Manifest(
        generation=previous + 1,
        parent=previous,
        origin=0 if parent is None else parent.origin,
        epoch=info.epoch,
        published_at=info.now,
        stream=info.stream,
        applied_sequence=state.applied.floor,
        derived_sequence=state.derived.floor,
        counts=Counts(
            memories=ledger.memories,
            hidden=ledger.hidden,
            decayed=decayed_count(ledger),
            lexicon=ledger.memories - ledger.hidden,
            signals=ledger.size,
            # counted by `publishing.publish`
            nodes=0,
            entities=0,
            edges=0,
        ),
        digest=f"{ledger.digest:016x}",
        made_with={name: tuple(sorted(versions)) for name, versions in sorted(state.made_with.items())},
        model=ModelIdentity(name=model.name, checksum=model.checksum, dimensions=model.dimensions),
    )
