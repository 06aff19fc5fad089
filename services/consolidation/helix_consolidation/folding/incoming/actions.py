"""The `LifecycleAction` of a lifecycle event, and of a message that replaces or deletes a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.ledger.event_reach import actor_of, own_actor_of, value_code
from helix_consolidation.ledger.lifecycle.pending_actions import DELETED_DOCUMENT, LifecycleAction
from helix_memory.events import EraseEvent, FeedbackEvent, UndoEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.incoming.decode import Lifecycle
    from helix_consolidation.ledger.event_reach import SelectorKind
    from helix_consolidation.ledger.lifecycle.pending_actions import ActionKind
    from helix_memory.events import ForgetEvent
    from helix_shared.edges import Origin


def action_of(item: Lifecycle) -> LifecycleAction:
    """The action of a lifecycle event."""
    event, sequence, at = item.event, item.sequence, item.at
    tenant, code = event.tenant_id, value_code(event.tenant_id, "event", event.event_id)
    actor = actor_of(tenant, event.user_id, event.acl)
    if isinstance(event, FeedbackEvent):
        named = (_ids(event.helpful), _ids(event.unhelpful))
        return LifecycleAction(sequence, code, "feedback", tenant, actor, "memory", (), at, *named)
    if isinstance(event, UndoEvent):
        ids = (event.memory_id, *filter(None, (event.other,)))
        codes = tuple(value_code(tenant, "memory", memory_id) for memory_id in ids)
        return LifecycleAction(sequence, code, "undo", tenant, actor, "memory", codes, at, ids)
    kind: ActionKind = "erase" if isinstance(event, EraseEvent) else "restore" if event.restore else "forget"
    ids = _ids(event.memory_ids)
    selector_kind, values = _selection(event, ids)
    selectors = tuple(value_code(tenant, selector_kind, value) for value in values)
    return LifecycleAction(sequence, code, kind, tenant, actor, selector_kind, selectors, at, ids)


def replacement_of(origin: Origin) -> LifecycleAction:
    """The action by which a new version, or a deletion, of a document hides its earlier pieces."""
    tenant, sequence = origin.tenant_id, origin.event_sequence
    document = value_code(tenant, "document", origin.replaces_document)
    actor = (
        actor_of(tenant, origin.user_id, origin.acl)
        if origin.is_deletion
        else own_actor_of(tenant, origin.user_id)
    )
    event = value_code(tenant, "event", origin.event_id)
    named = (DELETED_DOCUMENT,) if origin.is_deletion else ()
    return LifecycleAction(sequence, event, "replace", tenant, actor, "document", (document,), 0, named)


def _selection(event: ForgetEvent | EraseEvent, ids: tuple[str, ...]) -> tuple[SelectorKind, tuple[str, ...]]:
    """What an event selects memories by, and the selected values."""
    named: dict[SelectorKind, str] = {
        "session": event.of_session,
        "document": event.of_document,
        "user": event.of_user,
    }
    return next(((kind, (value,)) for kind, value in named.items() if value), ("memory", ids))


def _ids(named: Iterable[str]) -> tuple[str, ...]:
    """Ids sorted, without repeats."""
    return tuple(sorted(set(named)))
