"""A memory contains no text that one of its callers may not recall."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_doc2query.consumer import expansion_rows
from helix_ingest.extraction.drafts import CONTEXT_TURNS, drafts_of
from helix_ingest.extraction.values import Draft, LoggedEvent
from helix_ingest.rows import rows_of
from helix_kg.consumer import link_rows
from helix_memory.events import (
    CorrectEvent,
    DocumentEvent,
    DocumentPart,
    Event,
    MemoryEvent,
    MessageEvent,
    SessionEvent,
    ToolEvent,
)
from helix_shared.artifacts.filter.filters import Projects, Sessions
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.audience import audience_of, owner_of
from tests.examples import examples

MONDAY: Final = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)
MARK: Final = re.compile(r"mark(\d+)")
CALLERS: Final = [
    Selection(
        tenant_id="acme",
        user_id=user,
        principals=principals,
        filters=(*map(Projects, projects), *map(Sessions, sessions)),
    )
    for user in ("", "ann", "bob")
    for count in range(3)
    for principals in combinations(("hr", "dev"), count)
    for projects, sessions in product(((), (("p",),)), ((), (("s",),)))
]

scopes = st.fixed_dictionaries(
    {
        "session_id": st.sampled_from(["s", "s", "s", "t"]),
        "user_id": st.sampled_from(["", "ann", "bob"]),
        "project_id": st.sampled_from(["", "", "p"]),
        "acl": st.sampled_from([[], [], ["hr"], ["hr", "dev"], ["*"]]),
        "shared": st.booleans(),
    }
)
texts = st.sampled_from(
    [
        "mark{n}",
        "mark{n}, what do you think?",
        "mark{n} is what we decided to use for billing. When are you going?",
        "mark{n} opens it.\n\nA second paragraph says mark{n} in many more words than fit into one piece.",
    ]
)
events = st.tuples(
    st.sampled_from(["message"] * 5 + ["tool", "session", "memory", "correct", "document"]),
    scopes,
    texts,
    st.sampled_from(["user", "assistant"]),
)


def event_of(number: int, drawn: tuple[str, dict[str, Any], str, str]) -> Event:
    """An event whose texts all contain `mark<number>`."""
    kind, scope, template, role = drawn
    text = template.format(n=number)
    fields: dict[str, Any] = {"event_id": f"e{number}", "tenant_id": "acme"} | scope
    if kind == "message":
        return MessageEvent(role=role, speaker=f"speaker of mark{number}", text=text, **fields)
    if kind == "tool":
        return ToolEvent(tool="bash", command=f"grep mark{number}", output=text, **fields)
    if kind == "session":
        return SessionEvent(phase="ended", **fields)
    if kind == "document":
        parts = [DocumentPart(heading=f"mark{number} {n}", text=text) for n in range(2)]
        return DocumentEvent(document_id="d", title=f"mark{number}", parts=parts, **fields)
    if kind == "correct":
        return CorrectEvent(memory_id="0" * 32, text=text, **fields)
    return MemoryEvent(text=text, title=f"mark{number}", **fields)


def drafts_in_order(log: list[LoggedEvent]) -> list[Draft]:
    """Drafts of all events of a log, each with the last messages of its session."""
    drafts: list[Draft] = []
    for place, logged in enumerate(log):
        session = logged.event.session_id
        turns = [one for one in log[:place] if isinstance(one.event, MessageEvent)]
        before = [one for one in turns if one.event.session_id == session][-CONTEXT_TURNS:]
        drafts += drafts_of(logged, before, most_tokens=12, count_tokens=lambda text: len(text.split()))
    return drafts


def admitted(event: Event) -> set[int]:
    """The callers who may recall the memories of an event."""
    row = {name: getattr(event, name) for name in ("tenant_id", "project_id", "session_id")} | {
        "owner": owner_of(event.user_id, shared=event.shared),
        "audience": audience_of(event.acl),
        "type": "episodic",
        "event_at": MONDAY,
        "created_at": MONDAY,
    }
    return {number for number, caller in enumerate(CALLERS) if caller.admits(row)}


def derived_text(draft: Draft) -> str:
    """All texts of a memory that a recall returns or searches, and the texts of its vectors."""
    [row] = rows_of([draft], np.zeros((1, 1), np.float32), [1], model="model")
    enriched = [*expansion_rows(row), *link_rows(row)]
    return "\n".join([draft.text, draft.title, draft.context, draft.passage, draft.window, str(enriched)])


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(events, min_size=2, max_size=7))
def test_everyone_who_recalls_a_memory_may_recall_every_event_it_quotes(
    history: list[tuple[str, dict[str, Any], str, str]],
) -> None:
    """Random owners, access lists, shared flags, projects, sessions and kinds, two or more in one session."""
    log = [
        LoggedEvent(event_of(number, drawn), number + 1, MONDAY + timedelta(minutes=number))
        for number, drawn in enumerate(history)
    ]
    for draft in drafts_in_order(log):
        callers = admitted(draft.logged.event)
        for number in map(int, MARK.findall(derived_text(draft))):
            assert callers <= admitted(log[number].event), (draft, log[number].event)


def turn(number: int, text: str, **fields: Any) -> LoggedEvent:
    """A turn of session s."""
    event = MessageEvent(
        event_id=f"e{number}",
        tenant_id="acme",
        session_id="s",
        role="user",
        speaker=fields.get("user_id", ""),
        text=text,
        **fields,
    )
    return LoggedEvent(event, number, MONDAY + timedelta(minutes=number))


def test_a_private_question_does_not_become_the_text_of_a_public_answer() -> None:
    """Ann's question is only for her department, so Bob's answer does not contain it."""
    ann = turn(1, "My salary is 93,000, what do you think?", user_id="ann", acl=["hr"])
    bob = turn(2, "No idea honestly", user_id="bob")
    drafts = drafts_in_order([ann, bob, turn(3, "Let us move on", user_id="bob")])
    assert [draft.text for draft in drafts if draft.logged is bob] == ["No idea honestly"] * 2
    assert not [draft for draft in drafts if draft.logged is not ann and "93,000" in derived_text(draft)]
    assert [draft.context for draft in drafts if draft.logged is ann] == ["", ""]


def test_a_private_answer_may_quote_the_public_question() -> None:
    """A memory may quote text that more callers may recall."""
    asked = turn(1, "Where do you live now?", user_id="bob", shared=True)
    answered = turn(2, "In Lisbon", user_id="ann")
    drafts = drafts_in_order([asked, answered])
    assert "Where do you live now? In Lisbon" in [draft.text for draft in drafts]
