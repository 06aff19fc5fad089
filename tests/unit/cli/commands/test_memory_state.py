"""What is told of an event about a memory, by what is served before and after it."""

from typing import Any

import pytest

from helix_cli.commands.memory import state
from helix_memory.recall.v1 import recall_pb2

from .memory_commands import ASKED, CORRECTED, FAR, REPLACED, WEAK, a_state


def test_the_other_versions_of_a_memory_are_told() -> None:
    """What corrects it and what it corrects, over several steps; what was taken back is none."""
    steps = [(REPLACED, ASKED, True), (WEAK, REPLACED, True), (FAR, WEAK, False)]
    found = recall_pb2.GetHistoryResponse(
        memories=[
            recall_pb2.Memory(memory_id=one, source=recall_pb2.Source(stream_sequence=number))
            for number, one in enumerate((ASKED, REPLACED, WEAK, FAR), 1)
        ],
        relations=[
            recall_pb2.HistoryRelation(newer_id=newer, older_id=older, relation="CORRECTS", counts=counts)
            for newer, older, counts in steps
        ],
    )
    before, after = state.Seen(WEAK, None, found), state.Seen(WEAK, a_state("FORGOTTEN"), None)
    assert before.other_versions == [ASKED, REPLACED]
    assert before.later_versions == []
    assert state.Seen(REPLACED, None, found).later_versions == [WEAK]
    shows = "; `helix memory restore` shows them again"
    all_told = state.forgotten(before, after).text
    assert all_told == f"forgotten with its other versions aaaaaaaa, bbbbbbbb{shows}"
    one_named = state.forgotten(before, after, named=[WEAK, ASKED]).text
    assert one_named == f"forgotten with its other version bbbbbbbb{shows}"
    alone = state.Seen(WEAK, None, recall_pb2.GetHistoryResponse())
    assert state.forgotten(alone, after).text == "forgotten; `helix memory restore` shows it again"


@pytest.mark.parametrize(
    ("loss", "wanted", "reason"),
    [
        ("FORGOTTEN", {"text": "Tea."}, "it is forgotten by the event with sequence 7; restore it first"),
        ("ERASED", {"text": "Tea."}, "it is erased by the event with sequence 7, which cannot be taken back"),
        ("NOT_VALID", {"text": "Tea."}, ""),
        ("NOT_VALID", {"pinned": True}, "it has expired, is not valid now, or its document has another"),
        ("NONE", {"pinned": True}, ""),
    ],
)
def test_why_a_hidden_memory_has_no_correction(loss: str, wanted: dict[str, Any], reason: str) -> None:
    """A text is given to what has expired; a pin needs the text, which is not served."""
    found = state.nothing_to_correct(state.Seen(ASKED, a_state(loss, event_sequence=7), None), wanted)
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


HIDDEN, ERASED = a_state("FORGOTTEN", event_sequence=7), a_state("ERASED", event_sequence=8)
SHOWN, DECAYED, CLOSED = a_state("NONE"), a_state("DECAYED"), a_state("REPLACED", replaced_by=REPLACED)


@pytest.mark.parametrize(
    ("told", "before", "after", "text", "is_change"),
    [
        (state.forgotten, SHOWN, HIDDEN, "forgotten;", True),
        (state.forgotten, None, HIDDEN, "forgotten;", True),
        (state.forgotten, HIDDEN, HIDDEN, "it is forgotten already, by the event with sequence 7", False),
        (state.forgotten, ERASED, ERASED, "it is erased already, by the event with sequence 8", False),
        (state.forgotten, SHOWN, SHOWN, "a later event restored it", False),
        (state.restored, HIDDEN, SHOWN, "restored", True),
        (state.restored, DECAYED, SHOWN, "restored", True),
        (state.restored, HIDDEN, CLOSED, "restored, but it no longer holds: bbbbbbbb replaced it", True),
        (state.restored, HIDDEN, HIDDEN, "it is forgotten by the event with sequence 7; restore what", False),
        (state.restored, SHOWN, SHOWN, "it was not forgotten", False),
        (state.restored, CLOSED, CLOSED, "it was not forgotten; it no longer holds", False),
        (state.restored, ERASED, ERASED, "it was not forgotten; it is erased by the event", False),
        (state.undone, HIDDEN, HIDDEN, "it is forgotten by the event with sequence 7: no relation", False),
        (state.undone, SHOWN, SHOWN, "it has no relation that counts, and no correction", False),
    ],
)
def test_what_an_event_changed_is_told_by_what_is_served_before_and_after(
    told: Any, before: Any, after: Any, text: str, *, is_change: bool
) -> None:
    """Each rule with what it says; undoing with relations is below."""
    found = told(state.Seen(ASKED, before, None), state.Seen(ASKED, after, None))
    assert found.text.startswith(text)
    assert found.is_change == is_change


def test_an_undo_names_the_relations_that_no_longer_count() -> None:
    """Others are not named, and those that are hardly probable are counted."""
    before = state.Seen(ASKED, SHOWN, CORRECTED)
    assert state.undone(before, state.Seen(ASKED, SHOWN, None)).text == (
        "taken back: bbbbbbbb CORRECTS aaaaaaaa"
    )
    many = recall_pb2.GetHistoryResponse()
    many.CopyFrom(CORRECTED)
    for older, probability in ((WEAK, 0.1), (FAR, 0.05), ("e" * 32, 0.7)):
        many.relations.add(
            newer_id=ASKED, older_id=older, relation="UPDATES", probability=probability, counts=True
        )
    assert state.undone(state.Seen(ASKED, SHOWN, many), state.Seen(ASKED, SHOWN, CORRECTED)).text == (
        "taken back: aaaaaaaa UPDATES eeeeeeee, 2 with a probability below 0.2"
    )
    elsewhere = state.Seen(WEAK, SHOWN, CORRECTED)
    assert not state.undone(elsewhere, state.Seen(WEAK, HIDDEN, None)).is_change
    unchanged = state.undone(before, before, other=WEAK)
    assert (unchanged.text, unchanged.is_change) == ("no relation between it and cccccccc counts", False)
