"""Erasure in the stores: whole events, quotations, what a restart continues, and the receipt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_consolidation.ledger.lifecycle.erasures import Erasures
from helix_memory.events import EraseEvent
from helix_shared.artifacts.erasures.receipts import Receipts
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.edges import FIRST_STATEMENT_PIECE
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import NOON, Bench, Stream, lifecycle, row

WORD = "xyzzysecret"


def erase(sequence: int, *ids: str, **fields: Any) -> Any:
    """An erase event of tenant acme."""
    given = fields or {"memory_ids": list(ids)}
    return lifecycle(EraseEvent(event_id=f"x{sequence}", tenant_id="acme", **given), sequence)


def told(bench: Bench, stream: Stream) -> dict[str, Any]:
    """A turn with a canary, a turn that quotes it, and one that does not; returns the first row."""
    said = row("acme", "e1", 1, f"The {WORD} is under the mat", session_id="s")
    quoting = {"session_id": "s", "context": f"user: {WORD}", "quotes": ["e1"]}
    answer = row("acme", "e2", 2, "Understood, thanks a lot", **quoting)
    other = row("acme", "e3", 3, "It rains in Porto today", session_id="s", context="agent: Understood")
    bench.apply(stream.memories("acme", "e1", 1, [said]), stream.links("acme", "e1", 1, [WORD]))
    bench.apply(
        stream.expansions("acme", "e1", 1, [f"where is {WORD}"]),
        stream.memories("acme", "e2", 2, [answer]),
        stream.memories("acme", "e3", 3, [answer | {"revision_sequence": 3}, other]),
    )
    bench.publish()
    return said


def events_to_derive_again(erasures: Erasures) -> set[int]:
    """Sequences of the events that all open erasures, and the state itself, ask for."""
    return erasures.to_rederive.union(*(erasure.to_rederive for erasure in erasures.open.values()))


def residue(bench: Bench, *rows: dict[str, Any]) -> dict[str, int]:
    """What is left of the canary in the data folder."""
    found = residue_in_files(bench.folder, Canaries.of_words([WORD], rows))
    assert not found.unread
    return dict(found.counts)


def test_an_erased_word_is_in_no_file_and_in_no_index(bench: Bench, stream: Stream) -> None:
    """Text, vector, terms, links, expansions, statements, and the context of the neighbour."""
    said = told(bench, stream)
    assert len(residue(bench, said)) > 5
    bench.apply(erase(4, said["memory_id"]))
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    assert residue(bench, said) == {}
    assert {one["text"] for one in bench.rows().values()} == {
        "Understood, thanks a lot", "It rains in Porto today",
    }  # fmt: skip


def test_an_erasure_after_a_restart_leaves_nothing_of_what_was_cloned(bench: Bench, stream: Stream) -> None:
    """A start clones the last generation into the live folder, with the graph that names the word."""
    said = told(bench, stream)
    again = bench.reopened()
    again.apply(erase(4, said["memory_id"]))
    again.publish()
    again.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    assert residue(again, said) == {}
    again.shard.close()


def test_without_the_purge_the_search_finds_residue(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: rows that are only deleted are found in files and in the dictionary of the lexicon."""
    monkeypatch.setattr(Live, "purge", lambda _self: None)
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    found = residue(bench, said)
    assert any("lexicon terms" in place for place in found)
    assert any(".lance/data" in place for place in found)


def test_a_neighbour_loses_its_context_and_is_asked_for_again(bench: Bench, stream: Stream) -> None:
    """Its row counts as one that no later turn completed, and its new row replaces the vector."""
    said = told(bench, stream)
    quoting = memory_id("acme", "e2", 0)
    vector = bench.rows()[quoting]["vector"]
    bench.apply(erase(4, said["memory_id"]))
    bench.publish()
    found = bench.rows()[quoting]
    assert (found["context"], found["quotes"], found["revision_sequence"]) == ("", [], 2)
    assert found["vector"] == vector
    assert events_to_derive_again(bench.shard.state.erasures) == {2, 3}
    assert bench.rows()[memory_id("acme", "e3", 0)]["context"] == "agent: Understood"
    again = row("acme", "e2", 2, "Understood, thanks a lot", session_id="s", vector=said["vector"][::-1])
    bench.apply(stream.memories("acme", "e2", 2, [again]))
    assert bench.rows()[quoting]["vector"] != vector


@pytest.mark.parametrize("together", [True, False])
def test_a_neighbour_quotes_nothing_of_two_erasures(bench: Bench, stream: Stream, *, together: bool) -> None:
    """Whether they are carried out in one batch or in two."""
    first, second = (row("acme", f"e{n}", n, f"text {n}", session_id="s") for n in (1, 2))
    quotes = {"session_id": "s", "context": "user: text", "quotes": ["e1", "e2"]}
    quoting = row("acme", "e3", 3, "As you said", **quotes)
    for number, one in enumerate((first, second, quoting), 1):
        bench.apply(stream.memories("acme", f"e{number}", number, [one]))
    erasures = [erase(4, first["memory_id"]), erase(5, second["memory_id"])]
    for batch in [erasures] if together else [erasures[:1], erasures[1:]]:
        bench.apply(*batch)
    bench.publish()
    assert bench.rows()[quoting["memory_id"]]["quotes"] == []


def test_a_row_that_quotes_an_erased_event_arrives_without_its_context(bench: Bench, stream: Stream) -> None:
    """A turn that was in flight when the erasure came does not bring the quotation back."""
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    late = row("acme", "e5", 5, "As you said", session_id="s", context=f"user: {WORD}", quotes=["e1", "e2"])
    bench.apply(stream.memories("acme", "e5", 5, [late]))
    bench.publish()
    found = bench.rows()[late["memory_id"]]
    assert (found["context"], found["quotes"]) == ("", ["e2"])
    assert 5 in events_to_derive_again(bench.shard.state.erasures)
    assert residue(bench, said) == {} or bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (2, 0, 1, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("erased_at", [3, 5])
def test_a_quotation_of_a_publication_that_does_not_count_goes_with_its_event(
    bench: Bench, stream: Stream, order: tuple[int, ...], erased_at: int
) -> None:
    """Published in sessions s and t, quoted in t, and erased after or before the second publication."""
    first = row("acme", "e1", 1, "It rains in Porto today", session_id="s")
    second = row("acme", "e1", 2 if erased_at > 3 else 4, f"The {WORD} is under the mat", session_id="t")
    quoting = {"session_id": "t", "context": f"user: {WORD}", "quotes": ["e1"]}
    answer = row("acme", "e2", second["stream_sequence"] + 1, "Understood, thanks a lot", **quoting)
    sequences = {1: [first], second["stream_sequence"]: [second], answer["stream_sequence"]: [answer]}
    messages = [stream.memories("acme", rows[0]["event_id"], n, rows) for n, rows in sequences.items()]
    messages.append(erase(erased_at, first["memory_id"]))
    messages += [stream.memories("acme", f"no{n}", n, []) for n in {1, 2, 3, 4, 5} - {*sequences, erased_at}]
    queue = [messages[n] for n in order] + messages[4:]
    while queue:
        waiting = [message for one in queue for message, _ in bench.apply(one).postponed]
        queue = waiting
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert bench.rows()[answer["memory_id"]]["context"] == ""
    assert residue(bench, second) == {}
    assert answer["stream_sequence"] in events_to_derive_again(bench.shard.state.erasures)


def test_a_statement_of_a_late_quoting_row_has_no_context_where_a_later_row_is_stored(
    bench: Bench, stream: Stream
) -> None:
    """The completion, which quotes nothing erased, comes before the memory's own message, which does."""
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    own = row("acme", "e5", 5, "As you said", session_id="s", context=f"user: {WORD}", quotes=["e1"])
    completed = own | {"context": "", "quotes": [], "revision_sequence": 6}
    bench.apply(stream.memories("acme", "e6", 6, [completed, row("acme", "e6", 6, "Fine", session_id="s")]))
    bench.apply(stream.memories("acme", "e5", 5, [own]))
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}
    assert bench.shard.state.erasures.has_quoting_messages


def test_a_message_from_before_an_erasure_that_comes_again_brings_no_context_back(
    bench: Bench, stream: Stream
) -> None:
    """It is older than the row that is stored, so only the statement could take it."""
    said = told(bench, stream)
    own = row("acme", "e5", 5, "As you said", session_id="s", context=f"user: {WORD}", quotes=["e1"])
    older, newer = (stream.memories("acme", "e5", 5, [own]) for _ in range(2))
    bench.apply(erase(4, said["memory_id"]))
    bench.apply(newer)
    bench.apply(older)
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}


def test_a_derived_statement_that_quotes_an_erased_event_leaves_the_stream_and_is_asked_for_again(
    bench: Bench, stream: Stream
) -> None:
    """It is not stored; its verbatim memory quotes fewer turns, and is stored as it is."""
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    bench.shard.state.erasures.has_quoting_messages = False
    turn = row("acme", "e5", 5, "Yes, there", session_id="s")
    extracted = row("acme", "e5", 5, f"The {WORD} is there", piece=FIRST_STATEMENT_PIECE, quotes=["e1"])
    extracted |= {"derived_from": turn["memory_id"], "session_id": "s"}
    bench.apply(stream.memories("acme", "e5", 5, [turn, extracted]))
    assert extracted["memory_id"] not in bench.rows()
    assert bench.shard.state.erasures.has_quoting_messages
    assert 5 in events_to_derive_again(bench.shard.state.erasures)


def test_erasing_one_piece_erases_its_event(bench: Bench, stream: Stream) -> None:
    """Pieces quote each other, and the log holds the event whole; other events stay."""
    pieces = [row("acme", "d", 1, f"{WORD} part {n}", piece=n) for n in range(3)]
    other = row("acme", "o", 2, "something else")
    bench.apply(stream.memories("acme", "d", 1, pieces), stream.memories("acme", "o", 2, [other]))
    bench.apply(erase(3, pieces[1]["memory_id"]))
    assert list(bench.rows()) == [other["memory_id"]]
    assert bench.shard.state.erasures.open[3].events == {1}


def test_an_erased_event_that_is_published_again_stays_away(bench: Bench, stream: Stream) -> None:
    """Under any sequence and with any text: its id was erased. The log is to lose it again."""
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    back = row("acme", "e1", 5, f"{WORD} is back", session_id="s")
    bench.apply(stream.memories("acme", "e1", 5, [back]))
    assert said["memory_id"] not in bench.rows()
    assert bench.shard.state.erasures.republished == {5: "acme"}


def test_every_publication_of_an_erased_event_leaves_the_log(bench: Bench, stream: Stream) -> None:
    """Also one that never counted, because an earlier one had memories."""
    first, second = (row("acme", "e1", n, f"{WORD} {n}") for n in (1, 2))
    bench.apply(stream.memories("acme", "e1", 1, [first]), stream.memories("acme", "e1", 2, [second]))
    bench.publish()
    bench = bench.reopened()
    bench.apply(erase(3, first["memory_id"]))
    assert bench.shard.state.erasures.open[3].events == {1, 2}
    bench.shard.close()


def test_a_restart_continues_an_erasure(bench: Bench, stream: Stream) -> None:
    """What is to be removed elsewhere, and who is to be derived again, is in the generation."""
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    bench.publish()
    before = bench.shard.state.erasures
    bench = bench.reopened()
    after = bench.shard.state.erasures
    assert after.open[4].to_json() == before.open[4].to_json()
    assert (after.open[4].events, after.blanked) == ({1}, before.blanked)
    assert events_to_derive_again(after) == {2, 3}
    bench.shard.close()


def test_a_restart_continues_a_purge_that_waits_for_the_next_generation(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the memories, and of the vectors that quoted them; no message has to come for it."""
    monkeypatch.setattr("helix_consolidation.stores.purge.MOST_PURGED_FIRST", 0)
    said = told(bench, stream)
    bench.apply(erase(4, said["memory_id"]))
    for place in ("memories", "context_vectors"):
        if place == "context_vectors":
            bench.shard.state.erasures.open[4].is_planned = True
            bench.shard.state.erasures.record_rederived({2, 3})
            bench.shard.purge.note_removed()
        bench.publish()
        bench = bench.reopened()
        assert place not in bench.shard.state.erasures.open[4].clean_since
        assert bench.shard.purge.has_work
        number = bench.publish().generation
        assert bench.shard.state.erasures.open[4].clean_since[place] == number
        assert not bench.shard.purge.has_work
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}
    bench.shard.close()


def test_the_receipt_counts_places_and_is_shown_to_who_erased(bench: Bench, stream: Stream) -> None:
    """A place is clean from a generation on, or still to be done; another user learns nothing."""
    mine = row("acme", "e1", 1, WORD, user_id="ann", acl=["hr"])
    other = row("acme", "e2", 2, "something else")
    bench.apply(stream.memories("acme", "e1", 1, [mine]), stream.memories("acme", "e2", 2, [other]))
    bench.apply(erase(3, of_user="ann", user_id="ann", acl=["hr"]))
    number = bench.publish().generation
    found = Receipts.open(folder_of(bench.folder, number)).find("acme", "x3")
    assert found is not None
    assert (found.places["memories"].count, found.places["memories"].generation) == (1, number)
    assert found.places["events"].generation == 0
    assert not found.is_complete
    assert found.is_for("acme", "ann", ["hr", "all"])
    others = (("acme", "bob", ["hr"]), ("acme", "", ["hr"]), ("acme", "ann", []), ("other", "ann", ["hr"]))
    assert not any(found.is_for(*one) for one in others)
    assert Receipts.open(folder_of(bench.folder, number)).find("other", "x3") is None


def test_an_erasure_for_a_user_leaves_what_others_said(
    make_bench: Callable[[], Bench], stream: Stream
) -> None:
    """Reach is that of a recall, also for the pieces and the quotations that go with an event."""
    bench = make_bench()
    bob = row("acme", "b", 1, f"{WORD} of Bob", user_id="bob", session_id="s")
    ann = row("acme", "a", 2, "Ann's own turn", user_id="ann", session_id="s")
    bench.apply(stream.memories("acme", "b", 1, [bob]), stream.memories("acme", "a", 2, [ann]))
    bench.apply(erase(3, of_session="s", user_id="ann"))
    assert list(bench.rows()) == [bob["memory_id"]]
    assert bench.shard.state.erasures.open[3].events == {2}
