"""A generation that is ready to serve: its artifacts, its encoder, and what the stages derive from them.

`current` makes and swaps it; a recall leases one from start to end. It is immutable, except for values that
few queries need: these are computed on first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from helix_query.generations.indexes.as_of_index import AsOfIndex
from helix_query.generations.indexes.authors import Authors
from helix_query.generations.indexes.facet_index import FacetIndex
from helix_query.generations.indexes.session_order import SessionOrder
from helix_query.generations.indexes.time_order import TimeOrder
from helix_query.recall.visibility import VisibilityEstimate
from helix_query.scheduling.lazy import Lazy
from helix_query.scheduling.lru_cache import LruCache
from helix_shared.artifacts.lexicon.reader import SELECTIONS
from helix_shared.errors import NotFoundError, OtherShardError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.generations.learned_adapters import LearnedAdapters
    from helix_query.recall.routing.centroids import Centroids
    from helix_query.recall.visibility import Visibility
    from helix_query.scheduling.progress import Progress
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.generation.reader import Generation
    from helix_shared.encoders.cross_encoder import CrossEncoder
    from helix_shared.encoders.encoder import Encoder

PROFILES: Final = 256
"""Profiles of users that a snapshot keeps; one of 20 lines takes about 20 KB."""
_HOUR: Final = 3_600_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A generation, the encoder that made its vectors, and the router's centroids for that encoder."""

    generation: Generation
    encoder: Encoder
    centroids: Centroids
    as_of_index: Lazy[AsOfIndex] = field(init=False)
    """Which memories existed when; for `as_of`."""
    valid_at_index: Lazy[AsOfIndex] = field(init=False)
    """Which memories had occurred when; for `valid_at`."""
    facet_index: Lazy[FacetIndex] = field(init=False)
    """Which memories state something about their author; for profiles."""
    _as_of_reads: Lazy[None] = field(init=False)
    """Loads what a recall with `as_of` needs."""
    previous_order: InitVar[SessionOrder | None] = None
    """The session order of the generation before."""
    session_order: SessionOrder = field(init=False)
    """The order inside sessions; for packing neighbours."""
    previous_times: InitVar[TimeOrder | None] = None
    """The order by time of the generation before, if a list asked for it."""
    time_order: Lazy[TimeOrder] = field(init=False)
    """The order by time; for lists. Made at the first list, then kept up to date by every swap."""
    visibility_estimates: dict[tuple[Selection, int], VisibilityEstimate] = field(default_factory=dict)
    """Estimates by selection and hour; cleared when full."""
    recent_profiles: LruCache[Hashable, Any] = field(default_factory=lambda: LruCache(PROFILES))
    """Profiles of users by what they were made of, for `recall.user_profile`."""
    authors: Authors = field(default_factory=Authors)
    """Who said what everyone may recall, for profiles; shared with the generation before, if there is one."""
    cross_encoders: Mapping[str, CrossEncoder] = field(default_factory=dict)
    """By name; empty where no ranking profile names one."""
    learned_adapters: LearnedAdapters | None = None
    """Query adapters of single tenants; None: they are not read, as in the lab."""

    def __post_init__(self, previous_order: SessionOrder | None, previous_times: TimeOrder | None) -> None:
        signals = self.generation.signals
        as_of_index, vectors = Lazy(lambda: AsOfIndex.of(signals.created_at)), self.generation.vectors
        object.__setattr__(self, "as_of_index", as_of_index)
        object.__setattr__(self, "valid_at_index", Lazy(lambda: AsOfIndex.of(signals.occurred_at)))
        object.__setattr__(self, "facet_index", Lazy(lambda: FacetIndex.of(signals)))
        object.__setattr__(self, "_as_of_reads", Lazy(lambda: _load_all(as_of_index.value, vectors.versions)))
        order = SessionOrder.of(signals, previous=previous_order)
        object.__setattr__(self, "session_order", order)
        times = Lazy(lambda: TimeOrder.of(signals))
        if previous_times is not None:
            continued = TimeOrder.of(signals, previous=previous_times)
            times = Lazy(lambda: continued)
            _ = times.value
        object.__setattr__(self, "time_order", times)

    def cross_encoder(self, name: str) -> CrossEncoder:
        """The loaded cross-encoder; NotFoundError if it was not loaded at the start."""
        found = self.cross_encoders.get(name)
        if found is None:
            raise NotFoundError(f"cross-encoder {name!r} was not loaded")
        return found

    @property
    def number(self) -> int:
        """Number of the generation, 1 and up."""
        return self.generation.manifest.generation

    @property
    def applied_sequence(self) -> int:
        """The last event sequence whose events can all be recalled."""
        return self.generation.manifest.applied_sequence

    def is_stale(self, min_sequence: int) -> bool:
        """Whether events up to `min_sequence`, which a request waits for, are not all in it."""
        return self.applied_sequence < min_sequence

    def require_tenant(self, tenant_id: str) -> None:
        """Refuse a tenant of another shard, of which this generation has nothing; an empty one is nobody.

        Raises:
            OtherShardError: names the shard.
        """
        place = self.generation.place
        if tenant_id and not place.owns(tenant_id):
            raise OtherShardError(tenant_id, place.map.shard_of(tenant_id))

    def estimate_visibility(self, visibility: Visibility) -> VisibilityEstimate:
        """Which share of its tenant's memories a caller sees; sampled once a selection and hour.

        The hour is that of the caller's moment, because validity and expiry depend on it.
        """
        key = visibility.selection, microseconds(visibility.moment) // _HOUR
        estimate = self.visibility_estimates.get(key)
        if estimate is None:
            if len(self.visibility_estimates) >= SELECTIONS:
                self.visibility_estimates.clear()
            estimate = self.visibility_estimates[key] = VisibilityEstimate.of(visibility)
        return estimate

    def prepare_as_of(self, until: float) -> None:
        """Load what recalls with `as_of` need before the channels run, so that none misses its deadline.

        Raises:
            OverdueError: another thread loads it and is not ready by `until` (monotonic clock).
        """
        self._as_of_reads.wait(until)

    def last_sequence_at(self, moment: datetime) -> int:
        """The last event sequence with a memory created by `moment`; 0 if there is none."""
        below, also = self.as_of_index.value.exactly_by(microseconds(moment))
        sequences = self.generation.signals.stream_sequence
        return max(int(sequences[:below].max(initial=0)), int(sequences[also].max(initial=0)))

    def ordinals_of(self, memory_ids: Sequence[str]) -> NDArray[np.int64]:
        """Ordinals of the ids that exist, in any order."""
        if not memory_ids:
            return np.empty(0, np.int64)
        found: NDArray[np.int64] = self.generation.vectors.find(memory_ids, ["ordinal"])["ordinal"].to_numpy()
        return found

    def named_nodes(self, tenant_id: str, names: Sequence[str]) -> NDArray[np.int64]:
        """Entities of the tenant with these names, without names that are part of a longer one."""
        nodes = self.generation.graph.entity_nodes(tenant_id, names)
        if not len(nodes):
            return nodes
        spellings = self.generation.graph.entity_names(nodes)
        whole = [f" {name} " for name in spellings]
        outer = [not any(mine != other and mine in other for other in whole) for mine in whole]
        return np.unique(nodes[np.array(outer, bool)])


class SnapshotSource(Protocol):
    """Serves snapshots to requests; `generations.current` is the one of the service."""

    @property
    def progress(self) -> Progress:
        """The last event sequence served, to wait for."""

    @property
    def cross_encoders(self) -> Mapping[str, CrossEncoder]:
        """Those that ranking profiles name, loaded at the start."""

    def lease(self) -> AbstractContextManager[Snapshot]:
        """The snapshot that answers one request; raises TemporaryError where there is none yet."""


def _load_all(*_loaded: object) -> None:
    """Return nothing: the caller loaded what is given when it evaluated the arguments."""
