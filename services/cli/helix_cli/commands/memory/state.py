"""What the query service serves of a memory, and what an event about it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_cli.output.terminal import ID_CHARACTERS
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helix_memory.transport.recall_client import RecallClient

_FORGOTTEN: Final = (recall_pb2.LOSS_FORGOTTEN, recall_pb2.LOSS_ERASED)
_WORDS: Final[Mapping[recall_pb2.Loss.ValueType, str]] = {
    recall_pb2.LOSS_FORGOTTEN: "it is forgotten{already}{by}",
    recall_pb2.LOSS_ERASED: "it is erased{already}{by}, which cannot be taken back",
    recall_pb2.LOSS_REPLACED: "it no longer holds",
    recall_pb2.LOSS_NOT_VALID: "it has expired, is not valid now, or its document has another version",
    recall_pb2.LOSS_DECAYED: "decay hides it",
}


LEAST_SHOWN: Final = 0.2
"""Least probability of a relation that is shown unasked."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory as one generation has it; without a `state` it has none that the caller may see.

    `history` is None where the memory is forgotten or not there.
    """

    memory_id: str
    state: recall_pb2.MemoryState | None
    history: recall_pb2.GetHistoryResponse | None

    @property
    def loss(self) -> recall_pb2.Loss.ValueType:
        """What hides it."""
        return recall_pb2.LOSS_NONE if self.state is None else self.state.loss

    def hidden_because(self, *, already: bool = False) -> str:
        """What hides it, for people; empty if nothing does."""
        found = _WORDS.get(self.loss, "")
        if self.state is None or not found:
            return ""
        if self.state.replaced_by:
            return f"{found}: {short(self.state.replaced_by)} replaced it"
        by = f" by the event with sequence {self.state.event_sequence}"
        return found.format(already=" already," if already else "", by=by)

    @property
    def in_force(self) -> set[tuple[str, str, str]]:
        """Newer memory, relation and older memory of the relations that count."""
        relations = () if self.history is None else self.history.relations
        return {(one.newer_id, one.relation, one.older_id) for one in relations if one.counts}

    @property
    def improbable(self) -> set[tuple[str, str, str]]:
        """Those of them that are hardly probable and closed nothing."""
        relations = () if self.history is None else self.history.relations
        return {(one.newer_id, one.relation, one.older_id) for one in relations if is_improbable(one)}

    @property
    def other_versions(self) -> list[str]:
        """Ids of the versions beside this one, in the order of the history."""
        pairs = () if self.history is None else self.history.relations
        linked = [{one.newer_id, one.older_id} for one in pairs if one.relation == "CORRECTS" and one.counts]
        family = {self.memory_id}
        while found := set().union(*(pair for pair in linked if pair & family)) - family:
            family |= found
        there = () if self.history is None else self.history.memories
        return [one.memory_id for one in there if one.memory_id in family - {self.memory_id}]

    @property
    def later_versions(self) -> list[str]:
        """Those of them that came after this one."""
        there = () if self.history is None else self.history.memories
        places = {one.memory_id: one.source.stream_sequence for one in there}
        return [one for one in self.other_versions if places[one] > places.get(self.memory_id, 0)]

    @property
    def text(self) -> str:
        """Its text; empty where it is not served."""
        there = () if self.history is None else self.history.memories
        return next((one.text for one in there if one.memory_id == self.memory_id), "")

    @property
    def current(self) -> recall_pb2.Memory | None:
        """The memory with all its corrections."""
        if self.history is None:
            return None
        corrected = {
            one.older_id: one.newer_id for one in self.history.relations if one.relation == "CORRECTS"
        }
        memory_id = self.memory_id
        while memory_id in corrected:
            memory_id = corrected.pop(memory_id)
        return next((one for one in self.history.memories if one.memory_id == memory_id), None)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a memory, for people."""

    text: str
    is_change: bool = True


def is_improbable(relation: recall_pb2.HistoryRelation) -> bool:
    """Whether a relation is hardly probable and closed nothing; it is shown only when asked for."""
    is_correction = relation.relation == "CORRECTS"
    return not (is_correction or relation.closed) and relation.probability < LEAST_SHOWN


def hidden_error(found: Seen) -> NotFoundError | None:
    """Why a memory that exists is not shown, and what shows it again; None where nothing hides it."""
    reason = found.hidden_because()
    if not reason:
        return None
    restored = found.loss == recall_pb2.LOSS_FORGOTTEN
    advice = "; `helix memory restore` shows it again" if restored else ""
    return NotFoundError(f"memory {short(found.memory_id)} is not shown: {reason}{advice}")


def seen(client: RecallClient, scope: recall_pb2.Scope, memory_ids: Sequence[str]) -> dict[str, Seen]:
    """Memories as the query service serves them, by id.

    Raises:
        InvalidInputError, TemporaryError, PermanentError: as `RecallClient.recall`.
    """
    states, _ = client.states(scope, memory_ids)
    return {one: Seen(one, state, _history(client, scope, one)) for one, state in states.items()}


def later_versions(found: Sequence[Seen]) -> list[str]:
    """Ids of the later versions of these memories that are not among them."""
    named = {one.memory_id for one in found}
    return list(dict.fromkeys(other for one in found for other in one.later_versions if other not in named))


def forgotten(before: Seen, after: Seen, *, named: Collection[str] = ()) -> Change:
    """What a forget changed, which hides all versions; `named` are all memories that it was told to hide."""
    if before.loss in _FORGOTTEN:
        return Change(before.hidden_because(already=True), is_change=False)
    if after.loss not in _FORGOTTEN:
        return Change("a later event restored it", is_change=False)
    others = [one for one in before.other_versions if one not in named]
    if not others:
        return Change("forgotten; `helix memory restore` shows it again")
    versions = f"its other version{'s' if len(others) > 1 else ''} {', '.join(map(short, others))}"
    return Change(f"forgotten with {versions}; `helix memory restore` shows them again")


def restored(before: Seen, after: Seen) -> Change:
    """What a restore changed."""
    if before.loss in (recall_pb2.LOSS_FORGOTTEN, recall_pb2.LOSS_DECAYED) and after.loss != before.loss:
        because = after.hidden_because()
        return Change(f"restored, but {because}" if because else "restored")
    if after.loss == recall_pb2.LOSS_FORGOTTEN:
        reason = "restore what that event named (a session, document or user), for the same user"
        return Change(f"{after.hidden_because()}; {reason}", is_change=False)
    because = after.hidden_because()
    return Change(f"it was not forgotten{f'; {because}' if because else ''}", is_change=False)


def undone(before: Seen, after: Seen, *, other: str = "") -> Change:
    """What an undo changed."""
    taken = sorted(before.in_force - after.in_force)
    if after.history is None:
        # it was itself a correction, and is hidden now: of the others nothing is known
        taken = [one for one in taken if before.memory_id in one]
    if taken:
        likely = [one for one in taken if one not in before.improbable]
        shown = [f"{short(newer)} {relation} {short(older)}" for newer, relation, older in likely]
        if left := len(taken) - len(likely):
            shown.append(f"{left} with a probability below {LEAST_SHOWN:g}")
        return Change(f"taken back: {', '.join(shown)}")
    if before.loss in _FORGOTTEN:
        return Change(f"{before.hidden_because()}: no relation of it counts", is_change=False)
    if other:
        return Change(f"no relation between it and {short(other)} counts", is_change=False)
    return Change("it has no relation that counts, and no correction", is_change=False)


def corrected(_before: Seen, after: Seen, *, done: str) -> Change:
    """What a correction changed, in a word; `after` is the new version."""
    if after.state is None:
        return Change("its new version is not there", is_change=False)
    because = after.hidden_because()
    return Change(
        f"{done}; the new version is {short(after.memory_id)}{f', but {because}' if because else ''}"
    )


def nothing_to_correct(found: Seen, wanted: Mapping[str, Any]) -> str:
    """Why the current version of a memory needs no correction, or cannot have one; empty if it can."""
    memory = found.current
    if memory is None:
        because = found.hidden_because()
        if found.loss == recall_pb2.LOSS_FORGOTTEN:
            return f"{because}; restore it first"
        # of an expired memory the text is not served, which a pin needs
        return because if found.loss == recall_pb2.LOSS_ERASED or "text" not in wanted else ""
    if wanted.get("text") == memory.text:
        return "it has that text already"
    if "pinned" in wanted:
        if wanted["pinned"] == memory.pinned:
            return "it is pinned already" if memory.pinned else "it is not pinned"
        if memory.superseded_by:
            return f"it no longer holds: {short(memory.superseded_by)} replaced it"
    return ""


def short(memory_id: str) -> str:
    """The first digits of an id, which commands take."""
    return memory_id[:ID_CHARACTERS]


def _history(
    client: RecallClient, scope: recall_pb2.Scope, memory_id: str
) -> recall_pb2.GetHistoryResponse | None:
    try:
        return client.history(recall_pb2.GetHistoryRequest(scope=scope, memory_id=memory_id))
    except NotFoundError:
        return None
