"""When out-of-order messages are applied."""

from __future__ import annotations

from helix_consolidation.delivery.out_of_order import OutOfOrderMessages
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_shared.errors import TemporaryError
from helix_shared.identity import statement_id
from tests.unit.consolidation.conftest import FIRST, Bench, Stream, message, row, statement

EXTRACTED = statement_id(FIRST, 0)

LATER = TemporaryError("an earlier event is not processed yet")


def test_a_whole_chain_is_taken_with_its_first_message(stream: Stream) -> None:
    """Events 2 to 100 wait for event 1; once it is processed all are taken, in the order of the log."""
    state, held = ConsolidationState(), OutOfOrderMessages(1_000)
    waiting = [stream.memories("acme", f"e{event}", event, []) for event in range(100, 1, -1)]
    assert held.keep([(message, LATER) for message in waiting], state) == []
    assert held.take(state, most=1_000) == []
    state.applied.mark(1)
    assert held.take(state, most=10) == waiting[:-11:-1]
    assert held.take(state, most=1_000) == []
    for event in range(2, 12):
        state.applied.mark(event)
    assert held.take(state, most=1_000) == waiting[-11::-1]


def test_a_gap_in_the_chain_is_waited_for(stream: Stream) -> None:
    """Event 3 is not processed: later messages stay, also when something else is processed."""
    state, held = ConsolidationState(), OutOfOrderMessages(10)
    second = stream.memories("acme", "e2", 2, [])
    stream.last += 1
    fourth = stream.memories("acme", "e4", 4, [])
    assert held.keep([(fourth, LATER), (second, LATER)], state) == []
    state.applied.mark(1)
    assert held.take(state, most=10) == [second]
    state.applied.mark(2)
    assert held.take(state, most=10) == []
    state.applied.mark(3)
    assert held.take(state, most=10) == [fourth]


def test_enrichment_waits_for_its_own_event_only(stream: Stream) -> None:
    """Event 1 is not processed; the event of the links is."""
    state, held = ConsolidationState(), OutOfOrderMessages(10)
    links = stream.links("acme", "e9", 9, ["N"])
    assert held.keep([(links, LATER)], state) == []
    state.applied.mark(9)
    assert held.take(state, most=10) == [links]


def test_a_message_without_room_or_in_order_is_returned(stream: Stream) -> None:
    """A message with everything before it processed must not wait here forever."""
    state, held = ConsolidationState(), OutOfOrderMessages(1)
    state.applied, state.derived = ProcessedSequences(4), ProcessedSequences()
    failed = stream.links("acme", "e5", 5, ["N"])
    kept, crowded = (stream.memories("acme", f"e{event}", event, []) for event in (6, 7))
    others = held.keep([(message, LATER) for message in (failed, kept, crowded)], state)
    assert [message for message, _ in others] == [failed, crowded]


def test_statements_wait_here_for_the_last_event_of_their_window(bench: Bench, stream: Stream) -> None:
    """Statements are extracted from events: ingest may be late with the last one, over many deliveries."""
    held = OutOfOrderMessages(10)
    early = stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "Ann wants the kiln", window=1)])
    often = message(early.metadata.stream, early.subject, early.data, 1, delivered=20, headers=early.headers)
    outcome = bench.apply(often)
    assert outcome.dead == []
    assert held.keep(outcome.postponed, bench.shard.state) == []
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "yes, that one")]))
    assert held.take(bench.shard.state, most=10) == [often]
    bench.apply(often)
    assert bench.found("kiln") == [EXTRACTED]
