"""Which event reaches which memory: every kind of event, selector and actor."""

from __future__ import annotations

from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_consolidation.ledger.event_reach import actor_of, visibility_of
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import NOON, Bench, Stream, lifecycle, row

MEMORIES: dict[str, dict[str, Any]] = {
    "everybody's": {},
    "ann's": {"user_id": "ann"},
    "shared by ann": {"user_id": "ann", "shared": True},
    "of hr": {"acl": ["hr"]},
    "ann's in hr": {"user_id": "ann", "acl": ["hr"]},
}
ACTORS: dict[str, dict[str, Any]] = {
    "tenant": {},
    "ann": {"user_id": "ann"},
    "bob": {"user_id": "bob"},
    "ann of hr": {"user_id": "ann", "acl": ["hr"]},
    "bob of hr": {"user_id": "bob", "acl": ["hr", "it"]},
}
REACHED = {
    "tenant": set(MEMORIES),
    "ann": {"everybody's", "ann's", "shared by ann"},
    "bob": {"everybody's", "shared by ann"},
    "ann of hr": set(MEMORIES),
    "bob of hr": {"everybody's", "shared by ann", "of hr"},
}
IDS = {name: memory_id("acme", f"e{number}", 0) for number, name in enumerate(MEMORIES, 1)}
LAST = len(MEMORIES)
EVENT = LAST + 1
SELECTORS = {
    "ids": {"memory_ids": [*IDS.values(), memory_id("acme", "unknown", 0)]},
    "session": {"of_session": "s"},
    "document": {"of_document": "d"},
    "user": {"of_user": "ann"},
}


def memories(stream: Stream) -> list[Msg]:
    """One memory of each visibility, all of one session and one document."""
    return [
        stream.memories(
            "acme",
            f"e{number}",
            number,
            [row("acme", f"e{number}", number, name, session_id="s", document_id="d", **fields)],
        )
        for number, (name, fields) in enumerate(MEMORIES.items(), 1)
    ]


def expected(actor: str, selector_kind: str) -> set[str]:
    """Names of the memories that an event of this actor and selector reaches."""
    of_ann = {name for name, fields in MEMORIES.items() if fields.get("user_id") == "ann"}
    return REACHED[actor] & (of_ann if selector_kind == "user" else set(MEMORIES))


def hidden(bench: Bench) -> set[str]:
    """Names of the memories that are hidden."""
    return {record["text"] for record in bench.rows().values() if record["hidden"]}


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_an_event_reaches_what_a_recall_of_its_actor_returns(actor: str, memory: str) -> None:
    """The writer's rule equals the reader's filter; without a user an event acts for the tenant."""
    fields = {"user_id": "", "acl": [], "shared": False} | MEMORIES[memory]
    owner = "" if fields["shared"] else fields["user_id"]
    audience = fields["acl"] or ["*"]
    event = {"user_id": "", "acl": []} | ACTORS[actor]
    reached = actor_of("acme", **event).reaches(visibility_of("acme", owner, audience))
    record = {"tenant_id": "acme", "owner": owner, "audience": audience, "event_at": NOON, "created_at": NOON}
    selection = Selection("acme", event["user_id"], tuple(event["acl"]))
    assert reached == (not event["user_id"] or selection.admits(record))
    assert reached == (memory in REACHED[actor])


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("selector_kind", SELECTORS)
def test_forget_erase_and_restore_stay_in_their_reach(
    bench: Bench, stream: Stream, actor: str, selector_kind: str
) -> None:
    """With any selector; what is unknown or out of reach is skipped without an error."""
    named = SELECTORS[selector_kind] | ACTORS[actor]
    bench.apply(*memories(stream))
    forget = ForgetEvent(event_id="f", tenant_id="acme", **named)
    outcome = bench.apply(lifecycle(forget, EVENT))
    assert (len(outcome.done), outcome.dead) == (1, [])
    assert hidden(bench) == expected(actor, selector_kind)
    restore = ForgetEvent(event_id="r", tenant_id="acme", restore=True, **named)
    bench.apply(lifecycle(restore, EVENT + 1))
    assert hidden(bench) == set()
    erase = EraseEvent(event_id="x", tenant_id="acme", **named)
    assert len(bench.apply(lifecycle(erase, EVENT + 2)).done) == 1
    left = {record["text"] for record in bench.rows().values()}
    assert left == set(MEMORIES) - expected(actor, selector_kind)


@pytest.mark.parametrize("actor", ["tenant", "bob"])
@pytest.mark.parametrize("selector_kind", SELECTORS)
def test_reach_applies_to_memories_that_arrive_late(
    bench: Bench, stream: Stream, actor: str, selector_kind: str
) -> None:
    """The erasure comes first, and is carried out once all memories before it have arrived."""
    erase = EraseEvent(event_id="x", tenant_id="acme", **SELECTORS[selector_kind], **ACTORS[actor])
    bench.apply(lifecycle(erase, EVENT))
    for message in reversed(memories(stream)):
        bench.apply(message)
    left = {record["text"] for record in bench.rows().values()}
    assert left == set(MEMORIES) - expected(actor, selector_kind)


@pytest.mark.parametrize("actor", ACTORS)
def test_feedback_counts_only_in_its_reach(bench: Bench, stream: Stream, actor: str) -> None:
    """Feedback from a caller who cannot recall a memory does not change its rank."""
    bench.apply(*memories(stream))
    feedback = FeedbackEvent(event_id="f", tenant_id="acme", helpful=list(IDS.values()), **ACTORS[actor])
    assert len(bench.apply(lifecycle(feedback, EVENT)).done) == 1
    counted = {record["text"] for record in bench.rows().values() if record["helpful_count"]}
    assert counted == REACHED[actor]


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("waits", [True, False])
def test_a_document_is_deleted_where_its_publisher_can_recall_it(
    bench: Bench, stream: Stream, actor: str, *, waits: bool
) -> None:
    """Bob's deletion of a document id does not delete Ann's private document of that id."""
    end_document(bench, stream, actor, [], is_deletion=True, waits=waits)
    assert hidden(bench) == REACHED[actor]


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("waits", [True, False])
def test_a_version_of_a_user_replaces_the_pieces_of_that_user(
    bench: Bench, stream: Stream, actor: str, *, waits: bool
) -> None:
    """Bob's own README hides only his own, even if he could recall another; the tenant's replaces all."""
    user = ACTORS[actor].get("user_id")
    rows = [row("acme", "v2", EVENT, "new", document_id="d", **ACTORS[actor])]
    end_document(bench, stream, actor, rows, is_deletion=False, waits=waits)
    of_user = {name for name, fields in MEMORIES.items() if fields.get("user_id") == user}
    assert hidden(bench) == (of_user if user else set(MEMORIES))


def end_document(
    bench: Bench, stream: Stream, actor: str, rows: list[dict[str, Any]], *, is_deletion: bool, waits: bool
) -> None:
    """Apply a version or deletion after the memories, or (`waits`) before the first; with restarts."""
    first, *others = memories(stream)
    actor_fields = {"user": ACTORS[actor].get("user_id", ""), "acl": ACTORS[actor].get("acl", ())}
    last = stream.memories("acme", "v2", EVENT, rows, document="d", is_deletion=is_deletion, **actor_fields)
    for batch in ([*others, last], [first]) if waits else ([first, *others], [last]):
        bench.apply(*batch)
        bench.publish()
        bench.shard = bench.reopened().shard


@pytest.mark.parametrize("actor", ACTORS)
def test_a_correction_out_of_reach_fails_like_one_of_an_unknown_memory(
    bench: Bench, stream: Stream, actor: str
) -> None:
    """The reasons differ in the id only."""
    bench.apply(*memories(stream))
    reasons, unknown = {}, memory_id("acme", "unknown", 0)
    for number, (name, corrects) in enumerate({**IDS, "unknown": unknown}.items(), EVENT):
        fields = {"corrects": corrects, **ACTORS[actor]}
        sent = stream.memories(
            "acme", f"k{number}", number, [row("acme", f"k{number}", number, "k", **fields)]
        )
        for _, error in bench.apply(sent).dead:
            reasons[name] = str(error)
    told = {name for name in MEMORIES if name in reasons and "there is no memory" in reasons[name]}
    assert told == set(MEMORIES) - REACHED[actor]
    for name in told:
        assert reasons[name].replace(IDS[name], unknown) == reasons["unknown"]


def test_an_erasure_hides_at_once_and_removes_after_earlier_events(bench: Bench, stream: Stream) -> None:
    """An erased memory is hidden also while an earlier event is not processed."""
    sent = memories(stream)
    bench.apply(*sent[1:])
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", of_session="s"), EVENT))
    assert hidden(bench) == set(MEMORIES) - {"everybody's"}
    bench.publish()
    reopened = bench.reopened()
    reopened.apply(sent[0])
    assert reopened.rows() == {}
    reopened.shard.close()
