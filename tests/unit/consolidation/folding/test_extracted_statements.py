"""Extracted statements: beside the verbatim memory, with its scope, and gone with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_shared.identity import MOST_STATEMENTS, memory_id, sources_of, statement_id
from tests.examples import seeds
from tests.unit.consolidation.conftest import FIRST, Bench, Stream, lifecycle, row, statement
from tests.unit.consolidation.folded import folded
from tests.unit.consolidation.histories import applied, in_log_order, shuffled

EXTRACTED = statement_id(FIRST, 0)


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
    extracted = statement("acme", "e1", 1, "Ann wants the blue kiln", window=1, user_id="bob", shared=True)
    outcome = bench.apply(
        stream.memories("acme", "e1", 1, [own]), stream.statements("acme", "e1", 1, [extracted])
    )
    assert (len(outcome.done), outcome.dead, outcome.postponed) == (2, [], [])
    found = bench.rows()[EXTRACTED]
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
    assert bench.found("kiln") == [EXTRACTED]


def test_statements_wait_for_every_event_of_their_window(bench: Bench, stream: Stream) -> None:
    """Then it is known which memories their turns have."""
    extracted = stream.statements("acme", "e2", 2, [statement("acme", "e1", 1, "blue kiln", window=2)])
    first = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")])
    second = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "good")])
    assert len(bench.apply(extracted, second).postponed) == 1
    assert len(bench.apply(extracted, first).done) == 2
    assert EXTRACTED in bench.rows()


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
    extracted = stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "blue kiln", window=1)])
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")]), extracted)
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
    extracted = [
        statement("acme", "e1", 1, text, window=1, number=n) for n, text in enumerate(("kiln", "blue"))
    ]
    answer = stream.statements("acme", "e1", 1, extracted)
    messages = [forget(2, memory_ids=[EXTRACTED]), answer]
    bench.apply(turn)
    for one in messages if late else reversed(messages):
        bench.apply(one)
    assert [found["hidden"] for found in bench.rows().values()] == [True, True, True]
    bench.apply(forget(3, memory_ids=[EXTRACTED], restore=True))
    assert [found["hidden"] for found in bench.rows().values()] == [False, False, False]


@pytest.mark.parametrize("late", [False, True])
def test_erasing_a_statement_erases_its_turn(bench: Bench, stream: Stream, *, late: bool) -> None:
    """Nothing of the turn is left, in either order."""
    turn = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one")])
    answer = stream.statements("acme", "e1", 1, [statement("acme", "e1", 1, "kiln", window=1)])
    messages = [erase(2, memory_ids=[EXTRACTED]), answer]
    bench.apply(turn)
    for one in messages if late else reversed(messages):
        bench.apply(one)
    assert bench.rows() == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"tenant_id": "other"},
        {"piece": 3},
        {"memory_id": FIRST},
        {"memory_id": statement_id(FIRST, 1)},
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
    extracted = statement("acme", "e1", 1, "blue kiln", window=1) | fields
    outcome = bench.apply(stream.statements("acme", "e1", 1, [extracted]))
    assert (len(outcome.dead), len(outcome.done)) == (1, 0)
    assert len(bench.rows()) == 1


def test_the_turn_of_a_statement_follows_from_its_id() -> None:
    """No other memory is found, and a text that is no id names nothing."""
    other = memory_id("acme", "e2", 0)
    for number in range(MOST_STATEMENTS):
        found = set(sources_of(statement_id(FIRST, number)))
        assert FIRST in found
        assert other not in found
    assert list(sources_of("e1")) == []


def test_feedback_and_corrections_of_a_statement_count_for_its_turn(bench: Bench, stream: Stream) -> None:
    """Whether it has arrived or not: a rebuild ends in the same state."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the blue one", user_id="ann")]))
    praise = FeedbackEvent(event_id="f2", tenant_id="acme", helpful=[FIRST, EXTRACTED])
    bench.apply(lifecycle(praise, 2))
    corrected = row("acme", "e3", 3, "the red one", user_id="ann", corrects=EXTRACTED)
    bench.apply(stream.memories("acme", "e3", 3, [corrected]))
    extracted = statement("acme", "e1", 1, "Ann wants the blue kiln", window=1)
    bench.apply(stream.statements("acme", "e1", 1, [extracted]))
    rows = bench.rows()
    new = memory_id("acme", "e3", 0)
    assert (rows[FIRST]["helpful_count"], rows[FIRST]["superseded_by"]) == (1, new)
    assert (rows[EXTRACTED]["superseded_by"], rows[EXTRACTED]["hidden"]) == (new, True)


@dataclass
class ExtractedHistory:
    """A random history of turns and of statements extracted from them."""

    random: Random
    stream: Stream = field(default_factory=Stream)
    messages: list[Msg] = field(default_factory=list)
    turns: list[tuple[str, int]] = field(default_factory=list)
    """Event and sequence of the turns that no window has yet."""

    def of(self, events: int) -> list[Msg]:
        """Turns, some published twice, windows asked about up to three times, and every kind of event."""
        for sequence in range(1, events + 1):
            if self.random.random() < 0.35:
                self._act(sequence)
            else:
                self._say(sequence)
        return self.messages

    def _say(self, sequence: int) -> None:
        r = self.random
        event = f"e{r.randrange(1, 9)}" if r.random() < 0.3 else f"e{sequence}"
        fields: dict[str, Any] = {"session_id": f"s{r.randrange(2)}"}
        if r.random() < 0.15:
            fields["corrects"] = self._name()
        rows = [row("acme", event, sequence, self._text(), **fields)] if r.random() < 0.9 else []
        self.messages.append(self.stream.memories("acme", event, sequence, rows))
        self.turns.append((event, sequence))
        if r.random() < 0.6:
            turns, self.turns = self.turns, []
            for _ in range(r.randrange(4)):
                self._draw(turns, event, sequence)

    def _draw(self, turns: list[tuple[str, int]], event: str, window: int) -> None:
        """One answer about a window: other statements, and another number of them, each time."""
        extracted = [
            statement("acme", name, sequence, self._text(), window=window, number=number)
            for name, sequence in turns
            for number in range(self.random.randrange(3))
        ]
        self.messages.append(self.stream.statements("acme", event, window, extracted))

    def _act(self, sequence: int) -> None:
        r = self.random
        common: dict[str, Any] = {"event_id": f"x{sequence}", "tenant_id": "acme"}
        names = [self._name() for _ in range(r.choice((1, 2)))]
        chosen = {"memory_ids": names} if r.random() < 0.8 else {"of_session": "s0"}
        event: Any = r.choice(
            (
                ForgetEvent(**common, **chosen),
                ForgetEvent(**common, **chosen, restore=True),
                EraseEvent(**common, **chosen),
                FeedbackEvent(**common, helpful=names[:1], unhelpful=names[1:]),
                UndoEvent(**common, memory_id=names[0], other="".join(names[1:])),
            )
        )
        self.messages.append(lifecycle(event, sequence))

    def _name(self) -> str:
        """The id of a turn, or of a statement that may exist, may come later, or never."""
        turn = memory_id("acme", f"e{self.random.randrange(1, 13)}", 0)
        return turn if self.random.random() < 0.4 else statement_id(turn, self.random.randrange(3))

    def _text(self) -> str:
        words = ("kiln", "glaze", "wheel", "now", "no longer", "instead", "blue", "red", "Monday", "7")
        return " ".join(self.random.sample(words, 5))


@pytest.mark.parametrize("seed", seeds(40, part=14))
def test_any_order_of_arrival_ends_in_the_same_state(seed: int) -> None:
    """Turns, answers about them, and events that name either, each one to three times."""
    random = Random(seed)
    messages = ExtractedHistory(random).of(random.randrange(6, 16))
    expected = folded(messages, random)
    for _ in range(3):
        assert folded(shuffled(messages, random), random) == expected


@pytest.mark.parametrize("seed", seeds(5, part=2))
def test_the_stores_end_in_the_same_state_with_restarts(seed: int) -> None:
    """Restarts before or after a generation is published; with the real stores."""
    random = Random(seed)
    messages = ExtractedHistory(random).of(10)
    in_order = applied(in_log_order(messages), Random(0))
    assert applied(shuffled(messages, random), random, restarts=0.2) == in_order
