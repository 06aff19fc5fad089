"""The shard: the stores and everything known about them, changed by one thread at a time.

`consumer` decides when; this is what it calls in a thread: apply a batch, sweep, publish, tidy up.
Any error that leaves here other than the documented ones means that memory and stores may
disagree: the process ends and starts again from the last generation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.context import FoldContext
from helix_consolidation.folding.decode import Derived, decode, event_sequence_of, place_of, within
from helix_consolidation.folding.fold import fold, sweep
from helix_consolidation.folding.lifecycle import apply_due_actions
from helix_consolidation.stores.apply import write_changes
from helix_consolidation.stores.load import LIVE, load
from helix_consolidation.stores.publish import publish_generation
from helix_memory.subjects import DERIVED_STREAM
from helix_shared.artifacts.generation.folders import published_numbers
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.retiring import retire
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.broker.settlement import ATTEMPTS
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import ConsolidationState
    from helix_consolidation.folding.decode import Lifecycle
    from helix_consolidation.stores.publish import PublicationInfo
    from helix_shared.artifacts.generation.manifest import Manifest

_log = logger(__name__)


@dataclass(slots=True)
class Outcome:
    """What became of a batch; `done` and `dead` are answered once their generation is out.

    The dead letters of `dead` are stored before that.
    """

    done: list[Msg] = field(default_factory=list)
    unfit: list[tuple[Msg, IncompatibleError]] = field(default_factory=list)
    """Not applied, because this writer cannot read them or has another model."""
    waiting: list[Msg] = field(default_factory=list)
    """Not applied, because they come after one that does not fit."""
    postponed: list[tuple[Msg, TemporaryError]] = field(default_factory=list)
    dead: list[tuple[Msg, PermanentError]] = field(default_factory=list)


class Shard:
    """One data folder, its live stores, and what the writer knows."""

    def __init__(
        self,
        root: Path,
        state: ConsolidationState,
        live: Live | None,
        manifest: Manifest | None,
        *,
        maintain_every: int,
        form: VectorForm,
    ) -> None:
        self._root = root
        self._live = live
        self._maintain_every = maintain_every
        self._form = form
        self._erased = False
        self._is_untidy = True
        self.state = state
        self.manifest = manifest

    @classmethod
    def open(cls, root: Path, *, maintain_every: int, form: VectorForm = DEFAULT_FORM) -> Self:
        """Start from CURRENT; what the live folder held is gone.

        Raises:
            CorruptArtifactError: CURRENT cannot be read.
            InvalidInputError: its vectors are in a form that cannot become `form`.
        """
        loaded = load(root, form=form)
        ledger = loaded.state.ledger
        _log.info("loaded", memories=ledger.memories - ledger.hidden, applied=loaded.state.applied.floor)
        return cls(root, loaded.state, loaded.live, loaded.manifest, maintain_every=maintain_every, form=form)

    @property
    def can_publish(self) -> bool:
        """Whether there are stores; the first answer of ingest, which names the model, creates them."""
        return self._live is not None

    def apply(self, messages: Sequence[Msg], *, now: int, log_end: int) -> Outcome:
        """Decode, fold and write one batch in the order of events.

        `now` is in microseconds; `log_end` is the last sequence of HELIX_EVENTS: nothing can answer a
        later event, whatever a message claims.
        """
        outcome = Outcome()
        context = self._folding(now)
        decoded: list[tuple[Derived | Lifecycle, Msg]] = []
        for message in messages:
            try:
                decoded.append((within(decode(message), log_end), message))
            except IncompatibleError as error:
                self._stop_before(message, error, outcome)
            except PermanentError as error:
                self._bury(message, error, outcome, log_end)
        for item, message in sorted(decoded, key=lambda pair: pair[0].order):
            self._fold_one(context, item, message, outcome, log_end)
        unfit, outcome.unfit = outcome.unfit, []
        for message, misfit in unfit:
            # another message of this batch may have answered its event
            self._stop_before(message, misfit, outcome)
        apply_due_actions(context)
        self._write(context.changes)
        self.state.tidy()
        return outcome

    def dead_letters_stored(self, outcome: Outcome) -> None:
        """The dead letters of a batch are stored: a generation may say that these messages are answered."""
        for message, _ in outcome.dead:
            if message.metadata.stream == DERIVED_STREAM:
                self.state.unstored_dead_letters.discard(message.metadata.sequence.stream)

    def sweep(self, *, now: int) -> bool:
        """Hide what expired; tells whether anything did."""
        context = self._folding(now)
        sweep(context)
        self._write(context.changes)
        return not context.changes.is_empty

    def publish(self, circumstances: PublicationInfo, *, ensure_lease: Callable[[], None]) -> Manifest:
        """Publish the next generation.

        Raises: as `publish_generation`.
        """
        if self._live is None:
            raise PermanentError("there is nothing to publish before the first answer of ingest")
        self._maintain(self._live)
        if self._erased:
            self.state.erasure_generation = 1 + (0 if self.manifest is None else self.manifest.generation)
        self.manifest = publish_generation(
            self._root, self._live, self.state, self.manifest, circumstances, ensure_lease=ensure_lease
        )
        self._erased = False
        return self.manifest

    def tidy(self) -> bool:
        """Use a quiet moment for what the next searches gain from; tell whether there is news to publish."""
        if self._live is None:
            return False
        vectors = self._live.vectors
        if vectors.is_maintaining:
            return vectors.finish_maintenance()
        if self._is_untidy:
            self._is_untidy = False
            vectors.begin_maintenance(resting=True)
        return False

    def retire(self, *, now: datetime, keep: int, min_age_seconds: float) -> list[int]:
        """Remove old generations; after an erasure all older ones, once no reader can need them."""
        oldest, erasure_generation = (
            min(published_numbers(self._root), default=0),
            self.state.erasure_generation,
        )
        kept = 1 if oldest < erasure_generation else keep
        return retire(self._root, now=now, keep=kept, min_age_seconds=min_age_seconds)

    def close(self) -> None:
        """Let go of the stores; what was not published is forgotten."""
        if self._live is not None:
            self._live.close()
            self._live = None

    def _folding(self, now: int) -> FoldContext:
        return FoldContext(self.state, Changes(stored_before=self.state.ledger.size), now, self._stored)

    def _stored(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        if self._live is None:
            return {}
        rows: list[dict[str, Any]] = self._live.vectors.take([ordinal], columns).to_pylist()
        return rows[0] if rows else {}

    def _fold_one(
        self, context: FoldContext, item: Derived | Lifecycle, message: Msg, outcome: Outcome, log_end: int
    ) -> None:
        if isinstance(item, Derived) and any(item.order[:2] > place_of(m) for m, _ in outcome.unfit):
            outcome.waiting.append(message)
            return
        try:
            fold(context, item)
            outcome.done.append(message)
        except IncompatibleError as error:
            self._stop_before(message, error, outcome)
        except TemporaryError as error:
            if self._is_early(item) or message.metadata.num_delivered < ATTEMPTS:
                outcome.postponed.append((message, error))
            else:
                self._bury(message, PermanentError(str(error)), outcome, log_end)
        except PermanentError as error:
            self._bury(message, error, outcome, log_end)

    def _bury(self, message: Msg, error: PermanentError, outcome: Outcome, log_end: int) -> None:
        """A dead letter is an answer too: nothing more will come of its event."""
        sequence = event_sequence_of(message)
        if sequence is not None and sequence <= log_end:
            self.state.applied.mark(sequence)
        self._answer_derived(message)
        if message.metadata.stream == DERIVED_STREAM:
            self.state.unstored_dead_letters.add(message.metadata.sequence.stream)
        outcome.dead.append((message, error))

    def _is_early(self, item: Derived | Lifecycle) -> bool:
        """Whether something before it is not applied: then it waits, however long, and is not to blame."""
        is_before_answer = isinstance(item, Derived) and self.state.derived.floor < item.sequence - 1
        return is_before_answer or self.state.applied.floor < item.order[0] - 1

    def _stop_before(self, message: Msg, error: IncompatibleError, outcome: Outcome) -> None:
        """Nothing that comes after this message is applied, unless its event has an answer already."""
        sequence = event_sequence_of(message)
        if sequence is not None and sequence in self.state.applied:
            self._answer_derived(message)
            outcome.done.append(message)
        else:
            outcome.unfit.append((message, error))

    def _answer_derived(self, message: Msg) -> None:
        position = message.metadata
        if position.stream == DERIVED_STREAM:
            self.state.derived.mark(position.sequence.stream)
            self.state.unstored_dead_letters.discard(position.sequence.stream)

    def _write(self, changes: Changes) -> None:
        if self._live is None and self.state.model is not None:
            self._live = Live.create(
                self._root / LIVE, dimensions=self.state.model.dimensions, form=self._form
            )
        if changes.is_empty or self._live is None:
            return
        write_changes(self._live, self.state.ledger, changes)
        self._erased = self._erased or bool(changes.erased)
        self._is_untidy = True

    def _maintain(self, live: Live) -> None:
        number = 0 if self.manifest is None else self.manifest.generation
        if self._erased:
            live.vectors.maintain(force=True)
            live.fold_graph_now()
            return
        live.vectors.finish_maintenance()
        if number % self._maintain_every == self._maintain_every - 1:
            live.vectors.begin_maintenance()
