"""The shard: the stores and the state, changed by one thread at a time.

`delivery.writer` decides when to apply a batch, sweep, publish or maintain. Any error other than the
documented ones means that state and stores may disagree: the process ends and starts again from the last
generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.context import FoldContext
from helix_consolidation.folding.erasure.carry_out import remove_quotations_without_memory
from helix_consolidation.folding.fold import sweep
from helix_consolidation.folding.removal import drop_foreign
from helix_consolidation.relations.decide import decide
from helix_consolidation.stores.apply import write_changes
from helix_consolidation.stores.batch import fold_batch
from helix_consolidation.stores.load import LIVE, load
from helix_consolidation.stores.made_with import own_versions
from helix_consolidation.stores.publish import publish_generation
from helix_consolidation.stores.purge import Purge
from helix_consolidation.usage.accesses import fold_access_messages
from helix_consolidation.usage.decay import NO_DECAY, DecayRule, sweep_decay
from helix_memory.subjects import DERIVED_STREAM
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.reader import place_of
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.errors import PermanentError
from helix_shared.machine.processes import return_free_memory
from helix_shared.shard_map import ONLY_SHARD
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import Decide
    from helix_consolidation.ledger.consolidation_state import ConsolidationState, Model
    from helix_consolidation.stores.outcome import Outcome
    from helix_consolidation.stores.publish import PublicationInfo
    from helix_shared.artifacts.generation.manifest import Manifest
    from helix_shared.artifacts.vectors.writer import VectorWriter
    from helix_shared.pairs.messages import UnsurePairs
    from helix_shared.shard_map import ShardPlace

_log = logger(__name__)


class Shard:
    """One data folder, its live stores, and the state of the writer."""

    def __init__(
        self,
        root: Path,
        state: ConsolidationState,
        live: Live | None,
        manifest: Manifest | None,
        *,
        maintain_every: int,
        form: VectorForm,
        decide: Decide = decide,
        decay: DecayRule = NO_DECAY,
        place: ShardPlace = ONLY_SHARD,
    ) -> None:
        self.decide = decide
        self.place = place
        """Which shard of the instance it is; `published_place` is that of the last generation."""
        self.published_place = (
            place if manifest is None else place_of(folder_of(root, manifest.generation), manifest)
        )
        self._root = root
        self._live = live
        self._maintain_every = maintain_every
        self._form = form
        self._decay = decay
        self._made_with = own_versions(form, decay)
        self._needs_maintenance = True
        self._model = state.model
        """Of the live stores."""
        self._is_anew = False
        self.state = state
        state.moved = place.map.moved
        self.manifest = manifest
        self.unsure: list[UnsurePairs] | None = None
        """Pairs to ask a language model about, which the writer publishes; None: nobody asks."""
        self.unasked: set[tuple[str, int]] = set()
        """Tenants and events whose published pairs hold a text that was forgotten or erased since."""
        self.purge = Purge(root, state)
        self.unreached: list[int] = []
        """Events that reached nothing of what they name by id; the writer stores their dead letters."""

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        maintain_every: int,
        form: VectorForm = DEFAULT_FORM,
        decide: Decide = decide,
        decay: DecayRule = NO_DECAY,
        place: ShardPlace = ONLY_SHARD,
    ) -> Self:
        """Start from CURRENT; the previous content of the live folder is removed.

        `decide` relates new statements to earlier ones.

        Raises:
            CorruptArtifactError: CURRENT cannot be read.
            InvalidInputError: its vectors are in a form that cannot become `form`.
        """
        loaded = load(root, form=form)
        state = loaded.state
        _log.info("loaded", memories=state.ledger.memories - state.ledger.hidden, applied=state.applied.floor)
        state.applied.skip_to(place.start)
        return cls(
            root,
            state,
            loaded.live,
            loaded.manifest,
            maintain_every=maintain_every,
            form=form,
            decide=decide,
            decay=decay,
            place=place,
        )

    @property
    def live(self) -> Live | None:
        """The live stores; None before the first memories message."""
        return self._live

    @property
    def can_publish(self) -> bool:
        """Whether there are stores; `begin` creates them, or the first memories message, by its model."""
        return self._live is not None

    def begin(self, model: Model) -> None:
        """Create the empty stores, so that a generation without memories can be published."""
        self.state.model = model
        self._create_stores(model)

    def apply(self, messages: Sequence[Msg], *, now: int, log_end: int) -> Outcome:
        """Decode, fold and write one batch in the order of events.

        `now` is in microseconds; `log_end` is the last sequence of HELIX_EVENTS: a message that claims a
        later event is refused.
        """
        context = self._context(now)
        outcome = fold_batch(context, messages, log_end=log_end, place=self.place)
        self._write(context.changes)
        self.state.prune()
        return outcome

    def dead_letters_stored(self, outcome: Outcome) -> None:
        """Count the dead messages of a batch as processed: their dead letters are stored."""
        for message, _ in outcome.dead:
            if message.metadata.stream == DERIVED_STREAM:
                self.state.unstored_dead_letters.discard(message.metadata.sequence.stream)

    def take_place(self, place: ShardPlace) -> None:
        """Use another shard map from now on."""
        self.place = place
        self.state.moved = place.map.moved

    def drop_foreign(self, *, now: int) -> list[str]:
        """Remove all data of tenants that were moved away or did not arrive completely; returns the tenants.

        Their bytes leave the stores and the older generations as those of something erased. A tenant that was
        this shard's, and that the map neither has here nor names as moved, stays: the map was made anew.
        """
        context, place, before = self._context(now), self.place, self.published_place
        found = drop_foreign(
            context, lambda one: place.owns(one) or (before.owns(one) and one not in place.map.moved)
        )
        self._write(context.changes)
        return found

    def remove_quotations(self, erasure: int, events: Iterable[tuple[str, str]], *, now: int) -> None:
        """Remove what memories quote of `events` without memories, for the erasure of this sequence."""
        if (found := self.state.erasures.open.get(erasure)) is not None:
            context = self._context(now)
            remove_quotations_without_memory(context, found, events)
            self._write(context.changes)

    def sweep(self, *, now: int) -> bool:
        """Hide what expired or decayed; return whether anything changed."""
        context = self._context(now)
        sweep(context)
        sweep_decay(context, self._decay)
        self._write(context.changes)
        return not context.changes.is_empty

    def apply_accesses(self, messages: Sequence[Msg], *, now: int) -> bool:
        """Count messages of HELIX_ACCESS; return whether anything changed. A malformed one counts nothing."""
        context = self._context(now)
        fold_access_messages(context, messages)
        self._write(context.changes)
        return not context.changes.is_empty

    def publish(self, info: PublicationInfo, *, ensure_lease: Callable[[], None]) -> Manifest:
        """Publish the next generation.

        Raises: as `publish_generation`.
        """
        if self._live is None:
            raise PermanentError("there is nothing to publish before the first memories message")
        number = 1 + (0 if self.manifest is None else self.manifest.generation)
        if not self.purge.run(self._live, number):
            self._maintain(self._live, number)
        self.manifest = publish_generation(
            self._root,
            self._live,
            self.state,
            None if self._is_anew else self.manifest,
            info,
            ensure_lease=ensure_lease,
            anew_after=number - 1 if self._is_anew else None,
            made_with=self._made_with,
            place=self.place,
        )
        self._is_anew, self.published_place = False, self.place
        self.purge.published()
        return self.manifest

    def maintain_when_idle(self) -> bool:
        """Begin or finish maintenance of the vector table; return whether there is something to publish."""
        if self._live is None:
            return False
        vectors = self._live.vectors
        if vectors.is_maintaining:
            return _finished(vectors)
        if self._needs_maintenance:
            self._needs_maintenance = False
            return _maintained(vectors.begin_maintenance(resting=True))
        return False

    def close(self) -> None:
        """Close the stores; what was not published is lost."""
        if self._live is not None:
            self._live.close()
            self._live = None

    def _context(self, now: int) -> FoldContext:
        changes = Changes(stored_before=self.state.ledger.size)
        work = self.unsure, self.unasked, self.unreached, self._stored_many
        return FoldContext(self.state, changes, now, self._stored, self.decide, *work)

    def _stored(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        if self._live is None:
            return {}
        rows: list[dict[str, Any]] = self._live.vectors.take([ordinal], columns).to_pylist()
        return rows[0] if rows else {}

    def _stored_many(self, ordinals: Sequence[int], columns: Sequence[str]) -> dict[int, Mapping[str, Any]]:
        if self._live is None or not ordinals:
            return {}
        rows = self._live.vectors.take(ordinals, ["ordinal", *columns]).to_pylist()
        return {row["ordinal"]: row for row in rows}

    def _write(self, changes: Changes) -> None:
        if self.state.model is not None and self.state.model != self._model:
            self._create_stores(self.state.model)
        if changes.is_empty or self._live is None:
            return
        write_changes(self._live, self.state.ledger, changes)
        if changes.erased or changes.blanked:
            self.purge.note_removed()
        self._needs_maintenance = True

    def _create_stores(self, model: Model) -> None:
        """Create the stores; those of another model are removed, as they hold nothing (`accept_model`)."""
        if self._live is not None:
            self._live.close()
            self._is_anew = self.manifest is not None
        self._live = Live.create(self._root / LIVE, dimensions=model.dimensions, form=self._form)
        self._model = model

    def _maintain(self, live: Live, number: int) -> None:
        """Finish maintenance of the vector table, and begin it for every so many generations."""
        _finished(live.vectors)
        if number % self._maintain_every == 0:
            _maintained(live.vectors.begin_maintenance())


def _finished(vectors: VectorWriter) -> bool:
    return _maintained(vectors.finish_maintenance())


def _maintained(is_done: bool) -> bool:
    """Give the memory of maintenance back, which reads the whole table."""
    if is_done:
        return_free_memory()
    return is_done
