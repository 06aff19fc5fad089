from __future__ import annotations

from functools import cache
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from nats.aio.msg import Msg

from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_shared.identity import memory_id
from tests.examples import examples
from tests.unit.consolidation.conftest import NOON, Bench, Stream, lifecycle, row
from tests.unit.consolidation.folded import fold_to_one_state_in_any_order, folded
from tests.unit.consolidation.histories import TENANT, History, applied, in_log_order, shuffled

TEXT = " ".join(f"word{n}" for n in range(40))
EVENTS = 12
SLOW = settings(
    max_examples=examples(4), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
"""Each example opens real stores, which takes a second or two."""
MANY = settings(
    max_examples=examples(24),
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same at every run."""
OTHERS = settings(
    max_examples=1_000,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
"""Random at every run; a failing seed is printed and tried first in the next run."""


def history() -> list[Msg]:
    """Every kind of message, in the order of its events."""
    s, ann, bob = Stream(), {"user_id": "ann"}, {"user_id": "bob"}
    first = row("acme", "e1", 1, "Where shall we meet?", session_id="s", **ann)
    completed = first | {"context": "In Lisbon", "revision_sequence": 2}
    second = row("acme", "e2", 2, "In Lisbon", session_id="s", corrects="", **ann)
    old_id, expiry = memory_id("acme", "e3", 0), NOON
    return [
        s.memories("acme", "e1", 1, [first]),
        s.expansions("acme", "e1", 1, ["where is the meeting?"]),
        s.memories("acme", "e2", 2, [completed, second]),
        s.links("acme", "e2", 2, ["Lisbon"]),
        s.memories("acme", "e3", 3, [row("acme", "e3", 3, "The port is 8080", **ann)]),
        s.links("acme", "e3", 3, ["Port", "8080"]),
        s.memories("acme", "d1", 4, [row("acme", "d1", 4, "old", document_id="d", piece=p) for p in (0, 1)]),
        lifecycle(ForgetEvent(event_id="f1", tenant_id="acme", of_session="s"), 5),
        s.memories("acme", "e6", 6, [row("acme", "e6", 6, "The port is 9090", corrects=old_id, **ann)]),
        s.memories("acme", "b1", 7, [row("acme", "b1", 7, "Bob was here", **bob)]),
        s.links("acme", "b1", 7, ["Bob"]),
        lifecycle(ForgetEvent(event_id="f2", tenant_id="acme", of_session="s", restore=True), 8),
        s.memories("acme", "d2", 9, [row("acme", "d2", 9, "new", document_id="d")], document="d"),
        lifecycle(EraseEvent(event_id="x", tenant_id="acme", of_user="bob"), 10),
        s.memories("acme", "b2", 11, [row("acme", "b2", 11, "Bob is back", **bob)]),
        s.memories("acme", "e12", 12, [row("acme", "e12", 12, "The port is 443", corrects=old_id, **ann)]),
        lifecycle(FeedbackEvent(event_id="g", tenant_id="acme", helpful=[memory_id("acme", "e1", 0)]), 13),
        s.memories("acme", "n1", 14, [row("acme", "n1", 14, TEXT, expires_at=expiry)]),
        s.memories("acme", "n2", 15, [row("acme", "n2", 15, TEXT.replace("word3", "three"))]),
        s.memories("other", "e1", 16, [row("other", "e1", 16, "Where?", session_id="s")]),
        lifecycle(ForgetEvent(event_id="f3", tenant_id="acme", memory_ids=[memory_id("acme", "n2", 0)]), 17),
        s.memories("acme", "nothing", 18, []),
    ]


IN_ORDER = history()


@cache
def expected() -> dict[str, Any]:
    """The state after the history, in the order of the log."""
    return applied(IN_ORDER, Random(0))


def test_the_history_exercises_every_rule() -> None:
    """The expected state of the other tests, worked out by hand."""
    found = expected()
    hidden = {r["event_id"] for r in found["rows"].values() if r["hidden"]}
    # e3 and its first correction, the old document, the expired row, the forgotten row
    assert hidden == {"e3", "e6", "d1", "n1", "n2"}
    assert {r["event_id"] for r in found["rows"].values()} & {"b1", "b2"} == {"b2"}
    assert {r["tenant_id"] for r in found["rows"].values()} == {"acme", "other"}
    assert found["sequences"] == (18, (), 17, ())


@SLOW
@given(seed=st.integers(0, 2**32))
def test_the_history_ends_in_one_state_in_any_order(seed: int) -> None:
    """Every message delivered one to three times, in random order and batches, with restarts."""
    random = Random(seed)
    assert expected() == applied(shuffled(IN_ORDER, random), random, restarts=0.1)


@SLOW
@given(seed=st.integers(0, 2**32))
def test_any_history_ends_in_one_state_in_any_order(seed: int) -> None:
    """Memories, completions, corrections, documents, lifecycle events, enrichment, reused ids."""
    random = Random(seed)
    messages = History.of(seed, EVENTS).messages
    in_order = applied(in_log_order(messages), Random(0))
    assert in_order == applied(shuffled(messages, random), random, restarts=0.1)


@MANY
@given(seed=st.integers(0, 2**32))
@example(seed=4356466)
@example(seed=227950446)
def test_many_histories_fold_to_one_state_in_any_order(seed: int) -> None:
    """Longer random histories, without the stores."""
    fold_to_one_state(seed)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@OTHERS
@given(seed=st.integers(0, 2**32))
def test_histories_of_other_seeds_fold_to_one_state(seed: int) -> None:
    """As above."""
    fold_to_one_state(seed)


def fold_to_one_state(seed: int) -> None:
    """In the order of the log, and shuffled."""
    random = Random(seed)
    messages = History.of(seed, random.randrange(4, 2 * EVENTS)).messages
    assert folded(in_log_order(messages), Random(0)) == folded(shuffled(messages, random), random)


@pytest.mark.parametrize("first", [[1], [3], [3, 3], [2, 3]])
@pytest.mark.parametrize("second", [[], [0], [1], [3]])
def test_a_piece_that_comes_before_the_first_of_its_event_goes_with_its_publication(
    stream: Stream, first: list[int], second: list[int]
) -> None:
    """An event published at 1 and 2 by messages of so many pieces; event 3 completes piece 2 of the later."""
    messages = [
        stream.memories(TENANT, "e", n, [row(TENANT, "e", n, f"{n}.{p}", piece=p) for p in range(pieces)])
        for n, counts in enumerate((first, second), 1)
        for pieces in counts
    ]
    completed = row(TENANT, "e", 2, "2.2", piece=2, context="completed", revision_sequence=3)
    messages.append(stream.memories(TENANT, "e3", 3, [completed]))
    for order in permutations(messages):
        found = folded(order, Random(0), largest_batch=1)
        assert sorted(r["text"] for r in found["rows"].values()) == [f"1.{p}" for p in range(max(first))]
        assert found["withdrawn"] == set()


def test_a_piece_whose_event_lacks_it_goes_with_its_publication_after_a_restart(
    bench: Bench, stream: Stream
) -> None:
    """The lower publication comes after the restart."""
    completed = row(TENANT, "e", 2, "2.2", piece=2, context="completed", revision_sequence=3)
    bench.apply(stream.memories(TENANT, "e3", 3, [completed]))
    bench.apply(stream.memories(TENANT, "e", 2, [row(TENANT, "e", 2, "2.0")]))
    bench.publish()
    bench.shard = bench.reopened().shard
    bench.apply(stream.memories(TENANT, "e", 1, [row(TENANT, "e", 1, "1.0")]))
    assert [r["text"] for r in bench.rows().values()] == ["1.0"]


def orders(*messages: Msg) -> list[dict[str, Any]]:
    """The states after several orders of a few messages: the log, and reversed.

    Without the stores more orders are tried.
    """
    fold_to_one_state_in_any_order(messages)
    chosen = (list(messages), list(messages)[::-1])
    return [applied(order, Random(number)) for number, order in enumerate(chosen)]


def differing(states: list[dict[str, Any]]) -> list[tuple[int, list[str]]]:
    """Number of each order with another state than the first, and what differs."""
    names = [[name for name in found if found[name] != states[0][name]] for found in states]
    return [(number, found) for number, found in enumerate(names) if found]


def test_an_id_with_two_bodies_is_the_first_publication_in_any_order(stream: Stream) -> None:
    """One piece at 1, three at 5, and their enrichment: nothing of the second publication is kept."""
    second = [row("acme", "e", 5, f"beta piece {p}", piece=p) for p in range(3)]
    states = orders(
        stream.memories("acme", "e", 1, [row("acme", "e", 1, "alpha one")]),
        stream.memories("acme", "e", 5, second),
        stream.expansions("acme", "e", 1, ["which?"]),
        stream.expansions("acme", "e", 5, ["beta?"], piece=2),
    )
    assert differing(states) == []
    assert [(r["text"], r["expansions"]) for r in states[0]["rows"].values()] == [("alpha one", ["which?"])]


def test_near_duplicates_do_not_depend_on_the_order_of_arrival(stream: Stream) -> None:
    """B and C duplicate A; when A is erased C duplicates B, whenever the erasure comes."""
    copies = [
        stream.memories("acme", e, n, [row("acme", e, n, f"{TEXT} {e}")]) for n, e in enumerate("ABC", 1)
    ]
    assert differing(orders(*copies)) == []
    erase = EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "A", 0)])
    states = orders(*copies, lifecycle(erase, 4))
    assert differing(states) == []
    b, c = (memory_id("acme", e, 0) for e in "BC")
    assert {m: r["duplicate_of"] for m, r in states[0]["rows"].items()} == {b: "", c: b}
    assert [edge[:3] for edge in states[0]["edges"]] == [(c, b, "RELATES")]


@pytest.mark.parametrize("enrich", ["expansions", "links"])
def test_of_two_enrichments_the_later_counts_in_any_order(stream: Stream, enrich: str) -> None:
    """Also one without rows, which removes the enrichment."""
    memory = stream.memories("acme", "e", 1, [row("acme", "e", 1, "alpha")])
    send = getattr(stream, enrich)
    first, second, none = (send("acme", "e", 1, names) for names in (["Rule"], ["Model"], []))
    states = orders(memory, first, second)
    assert differing(states) == []
    assert enrichment(states[0]) == {"Model"}
    states = orders(memory, second, none)
    assert differing(states) == []
    assert enrichment(states[0]) == set()


def enrichment(found: dict[str, Any]) -> set[str]:
    """Names and expansions of all memories of a state."""
    of_links = {target.title() for _, target, kind, _ in found["edges"] if kind == "MENTIONS"}
    return of_links.union(*(record["expansions"] for record in found["rows"].values()))


def test_of_several_messages_of_an_event_the_latest_says_which_memories_there_are(stream: Stream) -> None:
    """Two pieces, then one, then none, then two: withdrawn ones are hidden, and restored unchanged."""

    def memories(texts: list[str]) -> Msg:
        return stream.memories("acme", "e", 1, [row("acme", "e", 1, t, piece=p) for p, t in enumerate(texts)])

    shorter = [
        memories(["one", "two"]),
        stream.expansions("acme", "e", 1, ["second?"], piece=1),
        memories(["ONE"]),
    ]
    states = orders(*shorter)
    assert differing(states) == []
    assert {r["text"]: r["hidden"] for r in states[0]["rows"].values()} == {"ONE": False, "two": True}
    states = orders(*shorter, memories(["1", "2"]))
    assert differing(states) == []
    found = {r["text"]: (r["hidden"], r["expansions"]) for r in states[0]["rows"].values()}
    assert found == {"1": (False, []), "2": (False, ["second?"])}
    withdrawn = applied([memories([]), *shorter], Random(1))
    assert {r["hidden"] for r in withdrawn["rows"].values()} == {True}


def test_a_deletion_published_again_does_not_reach_the_version_in_between(stream: Stream) -> None:
    """Version 1, its deletion at 2 and again at 4, version 3: version 3 stays in any order."""

    def version(event: str, sequence: int) -> Msg:
        rows = [row("acme", event, sequence, event, document_id="d")]
        return stream.memories("acme", event, sequence, rows, document="d")

    deletions = [stream.memories("acme", "gone", sequence, [], document="d") for sequence in (2, 4)]
    states = orders(version("v1", 1), deletions[0], version("v3", 3), deletions[1])
    assert differing(states) == []
    assert {r["text"]: r["hidden"] for r in states[0]["rows"].values()} == {"v1": True, "v3": False}


def test_an_erasure_published_again_does_not_reach_what_came_in_between(stream: Stream) -> None:
    """Erased at 2 and, by the same event id, at 4: the memory of 3 stays, the one of 1 is erased."""
    erase = EraseEvent(event_id="x", tenant_id="acme", of_session="s")
    states = orders(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "before", session_id="s")]),
        lifecycle(erase, 2),
        stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "between", session_id="s")]),
        lifecycle(erase, 4),
    )
    assert differing(states) == []
    assert [(r["text"], r["hidden"]) for r in states[0]["rows"].values()] == [("between", False)]


@pytest.mark.parametrize("named", ["of_session", "of_document"])
def test_an_erasure_that_overtakes_a_correction_erases_the_corrected_text(stream: Stream, named: str) -> None:
    """The corrected memory stays until the correction has copied its session and document."""
    first = row("acme", "e1", 1, "asthma", session_id="s", document_id="s", user_id="ann")
    second = row("acme", "e2", 2, "diabetes", user_id="ann", corrects=memory_id("acme", "e1", 0))
    erase = EraseEvent(event_id="x", tenant_id="acme", user_id="ann", **{named: "s"})
    states = orders(
        stream.memories("acme", "e1", 1, [first]),
        stream.memories("acme", "e2", 2, [second], keeps=("session_id", "document_id")),
        lifecycle(erase, 3),
    )
    assert differing(states) == []
    assert states[0]["rows"] == {}
