"""What came too early: when it is applied again."""

from __future__ import annotations

from helix_consolidation.folding.early import Early
from helix_consolidation.folding.folding import Known
from helix_consolidation.ledger.sequences import AnsweredSequences
from helix_shared.errors import TemporaryError

from .conftest import Stream

LATER = TemporaryError("an earlier event is not answered yet")


def test_a_whole_chain_is_given_out_with_its_first_message(stream: Stream) -> None:
    """Events 2 to 100 wait for event 1; once that is answered all of them come, in the order of the log."""
    known, early = Known(), Early(1_000)
    waiting = [stream.memories("acme", f"e{event}", event, []) for event in range(100, 1, -1)]
    assert early.keep([(message, LATER) for message in waiting], known) == []
    assert early.take(known, most=1_000) == []
    known.applied.answer(1)
    assert early.take(known, most=10) == waiting[:-11:-1]
    assert early.take(known, most=1_000) == []
    for event in range(2, 12):
        known.applied.answer(event)
    assert early.take(known, most=1_000) == waiting[-11::-1]


def test_a_hole_in_the_chain_is_waited_for(stream: Stream) -> None:
    """Nothing answers event 3: what follows it stays, also when something else is answered."""
    known, early = Known(), Early(10)
    second = stream.memories("acme", "e2", 2, [])
    stream.last += 1
    fourth = stream.memories("acme", "e4", 4, [])
    assert early.keep([(fourth, LATER), (second, LATER)], known) == []
    known.applied.answer(1)
    assert early.take(known, most=10) == [second]
    known.applied.answer(2)
    assert early.take(known, most=10) == []
    known.applied.answer(3)
    assert early.take(known, most=10) == [fourth]


def test_enrichment_waits_for_its_own_event_only(stream: Stream) -> None:
    """Event 1 is not answered; that of the links is."""
    known, early = Known(), Early(10)
    links = stream.links("acme", "e9", 9, ["N"])
    assert early.keep([(links, LATER)], known) == []
    known.applied.answer(9)
    assert early.take(known, most=10) == [links]


def test_what_has_no_room_or_is_not_early_is_asked_for_again(stream: Stream) -> None:
    """A message before which everything is answered failed; it must not wait here for ever."""
    known, early = Known(), Early(1)
    known.applied, known.derived = AnsweredSequences(4), AnsweredSequences()
    failed = stream.links("acme", "e5", 5, ["N"])
    kept, crowded = (stream.memories("acme", f"e{event}", event, []) for event in (6, 7))
    others = early.keep([(message, LATER) for message in (failed, kept, crowded)], known)
    assert [message for message, _ in others] == [failed, crowded]
