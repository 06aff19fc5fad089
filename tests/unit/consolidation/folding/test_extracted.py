"""Statements that a language model drew: beside the verbatim memory, with its scope, and gone with it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_memory.events import EraseEvent, ForgetEvent
from helix_shared.edges import FIRST_STATEMENT_PIECE
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import FIRST, Bench, Stream, lifecycle, row, statement
from tests.unit.consolidation.folded import folded
from tests.unit.consolidation.histories import shuffled

DRAWN = memory_id("acme", "e1", FIRST_STATEMENT_PIECE)


def forget(sequence: int, **fields: Any) -> Msg:
    """A forget event of the tenant."""
    return lifecycle(ForgetEvent(event_id=f"f{sequence}", tenant_id="acme", **fields), sequence)


def erase(sequence: int, **fields: Any) -> Msg:
    """An erase event of the tenant."""
    return lifecycle(EraseEvent(event_id=f"x{sequence}", tenant_id="acme", **fields), sequence)


def test_a_statement_stands_beside_its_turn_with_its_scope(bench: Bench, stream: Stream) -> None:
    """Owner, audience, class and confidence come from the stored turn, whatever the message says."""
    scope = {"user_id": "ann", "acl": ["hr"], "session_id": "s"}
    own = row("acme", "e1", 1, "yes, the blue one", source_class="agent", confidence=0.4, **scope)
    drawn = statement("acme", "e1", 1, "Ann wants the blue kiln", window=1, user_id="bob", shared=True)
    outcome = bench.apply(
        stream.memories("acme", "e1", 1, [own]), stream.statements("acme", "e1", 1, [drawn])
    )
    assert (len(outcome.done), outcome.dead, outcome.postponed) == (2, [], [])
    found = bench.rows()[DRAWN]
    assert (found["user_id"], found["acl"], found["shared"], found["session_id"]) == (
        "ann",
        ["hr"],
        False,
        "s",
    )
    assert (found["source_class"], round(found["confidence"], 3)) == ("agent", 0.4)
    assert (found["derived_from"], found["expansions"]) == (FIRST, ["question about Ann wants the blue kiln"])


def test_a_statement_is_found_by_its_words(bench: Bench, stream: Stream) -> None:
    """The turn does not have them."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "yes, that one")]),
        stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "Ann wants the kiln", window=1)]),
    )
    assert bench.found("kiln") == [DRAWN]


def test_statements_wait_for_every_event_of_their_window(bench: Bench, stream: Stream) -> None:
    """Then it is known which memories their turns have."""
    drawn = stream.statements("acme", "e2", 2, [statement("acme", "e1", 1, "blue kiln", window=2)])
    first = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")])
    second = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "good")])
    assert len(bench.apply(drawn, second).postponed) == 1
    assert len(bench.apply(drawn, first).done) == 2
    assert DRAWN in bench.rows()


def test_the_latest_answer_about_a_window_counts(bench: Bench, stream: Stream) -> None:
    """Another prompt gave one statement instead of two."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")]))
    two = [statement("acme", "e1", 1, text, window=1, number=n) for n, text in enumerate(("old", "older"))]
    bench.apply(stream.statements("acme", "e1", 1, two))
    bench.apply(stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "new", window=1)]))
    assert {found["text"] for found in bench.rows().values()} == {"the blue one", "new"}


@pytest.mark.parametrize("reopen", [False, True])
def test_a_statement_is_hidden_restored_and_erased_with_its_turn(
    bench: Bench, stream: Stream, *, reopen: bool
) -> None:
    """Forgetting by the id of the turn reaches it, also after a restart."""
    drawn = stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "blue kiln", window=1)])
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")]), drawn)
    if reopen:
        bench.publish()
        bench = bench.reopened()
    bench.apply(forget(2, memory_ids=[FIRST]))
    assert {found["hidden"] for found in bench.rows().values()} == {True}
    bench.apply(forget(3, memory_ids=[FIRST], restore=True))
    assert {found["hidden"] for found in bench.rows().values()} == {False}
    bench.apply(erase(4, memory_ids=[FIRST]))
    assert bench.rows() == {}
    again = Stream(last=9)
    bench.apply(again.statements("acme", "e1", 1, [statement("acme", "e1", 1, "blue kiln", window=1)]))
    assert bench.rows() == {}
    bench.shard.close()


@pytest.mark.parametrize("late", [False, True])
def test_forgetting_or_erasing_a_statement_reaches_its_turn(
    bench: Bench, stream: Stream, *, late: bool
) -> None:
    """A recall shows it in place of the turn; in a rebuild the statement may come after the event."""
    turn = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")])
    drawn = [statement("acme", "e1", 1, text, window=1, number=n) for n, text in enumerate(("kiln", "blue"))]
    answer = stream.statements("acme", "e1", 1, drawn)
    messages = [forget(2, memory_ids=[DRAWN]), answer]
    bench.apply(turn)
    for one in messages if late else reversed(messages):
        bench.apply(one)
    assert [found["hidden"] for found in bench.rows().values()] == [True, True, True]
    bench.apply(forget(3, memory_ids=[DRAWN], restore=True))
    assert [found["hidden"] for found in bench.rows().values()] == [False, False, False]


@pytest.mark.parametrize("late", [False, True])
def test_erasing_a_statement_erases_its_turn(bench: Bench, stream: Stream, *, late: bool) -> None:
    """Nothing of the turn is left, in either order."""
    turn = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")])
    answer = stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "kiln", window=1)])
    messages = [erase(2, memory_ids=[DRAWN]), answer]
    bench.apply(turn)
    for one in messages if late else reversed(messages):
        bench.apply(one)
    assert bench.rows() == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"tenant_id": "other"},
        {"piece": 3},
        {"derived_from": ""},
        {"corrects": FIRST},
        {"source_class": "oracle"},
        {"links": [{"edge": "KNOWS", "kind": "name", "name": "a", "surface": "a", "weight": 1.0}]},
        {"links": [{"edge": "MENTIONS", "kind": "name", "name": "a", "surface": "a", "weight": 0.0}]},
        {"revision_sequence": 7},
        {"speaker": None},
    ],
)
def test_a_statement_that_no_turn_can_have_given_is_refused(
    bench: Bench, stream: Stream, fields: dict[str, Any]
) -> None:
    """The whole message becomes a dead letter; the turn stays."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")]))
    drawn = statement("acme", "e1", 1, "blue kiln", window=1) | fields
    outcome = bench.apply(stream.statements("acme", "e1", 1, [drawn]))
    assert (len(outcome.dead), len(outcome.done)) == (1, 0)
    assert len(bench.rows()) == 1


def _history(random: Random) -> list[Msg]:
    """Turns, some published twice, windows asked about up to three times, forgets and erasures."""
    stream, messages = Stream(), list[Msg]()
    for sequence in range(1, 13):
        event = f"e{random.randrange(1, 9)}" if random.random() < 0.3 else f"e{sequence}"
        if random.random() < 0.25:
            named = [
                memory_id("acme", f"e{random.randrange(1, 13)}", random.choice((0, FIRST_STATEMENT_PIECE)))
            ]
            chosen = {"memory_ids": named} if random.random() < 0.7 else {"of_session": "s0"}
            make: Callable[..., Msg] = random.choice((forget, erase))
            messages.append(make(sequence, **chosen))
            continue
        fields = {"session_id": f"s{random.randrange(2)}"}
        rows = [row("acme", event, sequence, f"turn {sequence}", **fields)] if random.random() < 0.9 else []
        messages.append(stream.memories("acme", event, sequence, rows))
        # an id that only an earlier answer had would name nothing once a later one is in
        drawn_each = random.randrange(3)
        for asked in range(random.randrange(3)):
            drawn = [
                statement(
                    "acme",
                    event,
                    sequence,
                    f"said {sequence} {asked} {n}",
                    window=sequence,
                    number=n,
                    **fields,
                )
                for n in range(drawn_each)
            ]
            messages.append(stream.statements("acme", event, sequence, drawn))
    return messages


@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_arrival_ends_in_the_same_state(seed: int) -> None:
    """Turns, answers about them, forgets and erasures, each one to three times."""
    random = Random(seed)
    messages = _history(random)
    expected = folded(messages, random)
    for _ in range(4):
        assert folded(shuffled(messages, random), random) == expected
