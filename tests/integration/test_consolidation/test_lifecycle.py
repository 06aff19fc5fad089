"""Lifecycle events and corrections, as readers of the next generations get them."""

from __future__ import annotations

import pytest

from helix_memory import subjects
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_shared.identity import memory_id

from .conftest import Stack, row

pytestmark = pytest.mark.integration

MARKING = """
import runpy
from pathlib import Path
from helix_consolidation.delivery import writer
from helix_shared.artifacts.generation.folders import current_number
writer.mark_erasure = lambda data: Path({!r}).write_text(str(current_number(data)))
runpy.run_module("helix_consolidation", run_name="__main__")
"""


async def test_lifecycle_events_show_in_the_next_generation(stack: Stack) -> None:
    """Correct, replace, forget, restore, feedback and erase."""
    await stack.log_events(6)
    stack.start()
    ids = [memory_id("acme", f"e{number}", 0) for number in range(6)]
    await stack.derive("e0", 1, [row("e0", 1, "port 8080")])
    await stack.derive("e1", 2, [row("e1", 2, "port 9090", corrects=ids[0])])
    await stack.derive("e2", 3, [row("e2", 3, "old", document_id="d")], document="d")
    await stack.derive("e3", 4, [row("e3", 4, "new", document_id="d")], document="d")
    await stack.derive("e4", 5, [row("e4", 5, "of a session", session_id="s")])
    await stack.derive("e5", 6, [row("e5", 6, "of a user", user_id="ann")])
    await stack.until(lambda m: m.applied_sequence == 6)
    hidden = {r["memory_id"] for r in stack.rows() if r["hidden"]}
    assert hidden == {ids[0], ids[2]}

    await stack.publish_event(ForgetEvent(event_id="f", tenant_id="acme", of_session="s"))
    await stack.until(lambda m: m.applied_sequence == 7 and m.counts.hidden == 3)
    await stack.publish_event(ForgetEvent(event_id="r", tenant_id="acme", of_session="s", restore=True))
    await stack.until(lambda m: m.applied_sequence == 8 and m.counts.hidden == 2)
    await stack.publish_event(FeedbackEvent(event_id="b", tenant_id="acme", helpful=[ids[1]]))
    await stack.until(lambda m: m.applied_sequence == 9)
    assert {r["memory_id"]: r["helpful_count"] for r in stack.rows()}[ids[1]] == 1
    last = await stack.publish_event(EraseEvent(event_id="x", tenant_id="acme", of_user="ann"))
    manifest = await stack.until(lambda m: m.applied_sequence == last and m.counts.memories == 5)
    assert (manifest.counts.signals, manifest.counts.lexicon) == (6, 3)
    assert ids[5] not in {r["memory_id"] for r in stack.rows()}


async def test_an_undone_correction_restores_the_version_before(stack: Stack) -> None:
    """Undone and restored, the other version is visible; erased, it takes the one before with it."""
    await stack.log_events(2)
    stack.start()
    old, new = (memory_id("acme", event, 0) for event in ("e0", "e1"))
    await stack.derive("e0", 1, [row("e0", 1, "port 8080")])
    await stack.derive("e1", 2, [row("e1", 2, "port 9090", corrects=old)])
    await stack.until(lambda m: m.applied_sequence == 2)
    of_new = {"tenant_id": "acme", "memory_ids": [new]}
    for event, visible in (
        (UndoEvent(event_id="u", tenant_id="acme", memory_id=new), [old]),
        (ForgetEvent(event_id="r", **of_new, restore=True), [new]),
        (EraseEvent(event_id="x", **of_new), []),
    ):
        sequence = await stack.publish_event(event)
        await stack.until(lambda m, last=sequence: m.applied_sequence == last)
        assert [r["memory_id"] for r in stack.rows() if not r["hidden"]] == visible


async def test_a_caller_cannot_erase_or_correct_what_they_cannot_recall(stack: Stack) -> None:
    """Bob erases, forgets and corrects Ann's memories: they stay, and the reasons do not reveal them."""
    await stack.log_events(4)
    stack.start()
    hers, unknown = memory_id("acme", "e0", 0), memory_id("acme", "nothing", 0)
    await stack.derive("e0", 1, [row("e0", 1, "ann's plan", user_id="ann")])
    await stack.derive("e1", 2, [row("e1", 2, "told to all by ann", user_id="ann", shared=True)])
    await stack.derive("e2", 3, [row("e2", 3, "bob's plan", user_id="bob", corrects=hers)])
    await stack.derive("e3", 4, [row("e3", 4, "bob's plan", user_id="bob", corrects=unknown)])
    bob = {"tenant_id": "acme", "user_id": "bob"}
    await stack.publish_event(ForgetEvent(event_id="f", memory_ids=[hers], **bob))
    last = await stack.publish_event(EraseEvent(event_id="x", of_user="ann", **bob))
    await stack.until(lambda m: m.applied_sequence == last)
    assert [(r["memory_id"], r["hidden"]) for r in stack.rows()] == [(hers, False)]
    await stack.until_acknowledged()
    letters = [await stack.client.jetstream().get_msg(subjects.DLQ_STREAM, seq) for seq in (1, 2)]
    reasons = {(letter.headers or {})[subjects.REASON_HEADER] for letter in letters}
    assert len({reason.replace(hers, "ID").replace(unknown, "ID") for reason in reasons}) == 1
    of_tenant = await stack.publish_event(EraseEvent(event_id="y", tenant_id="acme", of_user="ann"))
    await stack.until(lambda m: m.applied_sequence == of_tenant and m.counts.memories == 0)


async def test_an_erasure_is_marked_before_it_is_published(stack: Stack) -> None:
    """For a re-embedding that was left behind: a writer that is killed in between would not repeat it."""
    marked = stack.data.parent / "marked"
    await stack.log_events(2)
    stack.start(code=MARKING.format(str(marked)))
    for number in range(2):
        event = f"e{number}"
        await stack.derive(event, number + 1, [row(event, number + 1, f"port {number}")])
    await stack.until(lambda m: m.applied_sequence == 2)
    assert not marked.exists()
    ids = [memory_id("acme", "e0", 0)]
    last = await stack.publish_event(EraseEvent(event_id="x", tenant_id="acme", memory_ids=ids))
    erased = await stack.until(lambda m: m.applied_sequence == last)
    assert marked.read_text() == str(erased.parent)
