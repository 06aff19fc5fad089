"""`expand_context`: neighbours of a memory, or its session, are packed around it."""

import re
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

NEIGHBOURS = recall_pb2.EXPAND_CONTEXT_NEIGHBOURS
SESSION = recall_pb2.EXPAND_CONTEXT_SESSION


def ids_of(reply: Any) -> list[str]:
    """Ids of a reply, best first."""
    return [found.memory.memory_id for found in reply.memories]


TALK: list[dict[str, Any]] = [
    {"text": f"{words}", "speaker": speaker, "session_id": "trip", "name": f"turn {number}"}
    for number, (speaker, words) in enumerate(
        [
            ("Ann", "Shall we plan the journey together?"),
            ("Bob", "Yes, and let us write down who pays."),
            ("Ann", "The ferry to Bergen leaves at noon on Friday."),
            ("Bob", "Good, then I bring the red suitcase."),
            ("Ann", "Do not forget the passports this time."),
        ]
    )
]
OTHERS: list[dict[str, Any]] = [
    {"text": "A private remark between the turns.", "session_id": "mixed", "user_id": "eve", "owner": "eve"},
    {"text": "The walrus sleeps on the northern rock.", "session_id": "mixed"},
    {"text": "A remark that was taken back.", "session_id": "mixed", "hidden": True},
    {"text": "It had been seen by the harbour master.", "session_id": "mixed"},
    {"text": "A secret of the other tenant.", "session_id": "mixed", "tenant_id": "globex"},
    {"text": "Chapter one explains the compass.", "document_id": "book", "event_kind": "document"},
]


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, encoder: Any, corpus_type: Any, serve: Any) -> Any:
    """A service on a conversation and a few other memories; ids by name or text."""
    folder = tmp_path_factory.mktemp("talking")
    corpus = corpus_type.create(folder / "data", encoder)
    rows = [*TALK, *OTHERS]
    ids = corpus.add([dict(row) for row in rows])
    corpus.publish()
    corpus.live.close()
    service = serve(folder)
    yield service, dict(zip([row.get("name", row["text"]) for row in rows], ids, strict=True))
    assert service.stop() == 0


def test_neighbours_stand_around_a_memory_marked_as_such(talking: Any) -> None:
    """The turn before as [1-], the turn after as [1+]; [1] is only the recalled memory."""
    service, ids = talking
    reply = service.recall("when does the ferry to Bergen leave", top_k=1, expand_context=NEIGHBOURS)
    assert ids_of(reply) == [ids["turn 2"]]
    assert reply.context.text == (
        "[1-] 2026-02-22, Bob\nYes, and let us write down who pays.\n\n"
        "[1] 2026-02-22, Ann\nThe ferry to Bergen leaves at noon on Friday.\n\n"
        "[1+] 2026-02-22, Bob\nGood, then I bring the red suitcase."
    )
    assert list(reply.context.memory_ids) == [ids["turn 2"]]
    assert list(reply.context.surrounding_ids) == [ids["turn 1"], ids["turn 3"]]


def test_the_whole_session_is_packed_where_it_fits(talking: Any) -> None:
    """In order around the memory; if it does not fit, the neighbours."""
    service, ids = talking
    ask = {"query": "when does the ferry to Bergen leave", "top_k": 1, "expand_context": SESSION}
    whole = service.recall(**ask)
    assert re.findall(r"^\[.+?\]", whole.context.text, re.MULTILINE) == [
        "[1-]",
        "[1-]",
        "[1]",
        "[1+]",
        "[1+]",
    ]
    assert list(whole.context.surrounding_ids) == [ids[f"turn {number}"] for number in (0, 1, 3, 4)]
    tight = service.recall(**ask, token_budget=whole.context.tokens - 1)
    assert list(tight.context.surrounding_ids) == [ids["turn 1"], ids["turn 3"]]
    assert service.recall(**ask, token_budget=whole.context.tokens).context.text == whole.context.text


def test_by_default_no_neighbours_are_packed(talking: Any) -> None:
    """By default of the profiles, and by request."""
    service, _ = talking
    for fields in ({}, {"expand_context": recall_pb2.EXPAND_CONTEXT_NONE}):
        assert not service.recall("ferry to Bergen", **fields).context.surrounding_ids


def test_surroundings_hold_what_the_caller_may_see_alone(talking: Any) -> None:
    """Turns of another user or tenant and forgotten turns are never packed."""
    service, ids = talking
    ask = {"query": "where does the walrus sleep", "top_k": 1}
    for expand_context in (NEIGHBOURS, SESSION):
        reply = service.recall(**ask, expand_context=expand_context)
        # both the forgotten and the private turn are skipped
        assert list(reply.context.surrounding_ids) == [ids["It had been seen by the harbour master."]]
        own = service.recall(**ask, expand_context=expand_context, user="eve")
        assert ids["A private remark between the turns."] in own.context.surrounding_ids


def test_a_memory_of_no_session_has_no_neighbours_of_other_documents(talking: Any) -> None:
    """Memories without a session do not share one."""
    service, _ = talking
    reply = service.recall("what does chapter one explain", top_k=1, expand_context=SESSION)
    assert reply.memories[0].memory.text == "Chapter one explains the compass."
    assert not reply.context.surrounding_ids


def test_nothing_is_packed_twice_and_no_recalled_memory_is_dropped(talking: Any) -> None:
    """With any budget: the same recalled memories as without neighbours, and no text twice."""
    service, ids = talking
    for budget in range(20, 200, 9):
        for top_k in (1, 2, 4):
            ask = {"query": "ferry, suitcase and passports", "top_k": top_k, "token_budget": budget}
            plain = service.recall(**ask)
            for expand_context in (NEIGHBOURS, SESSION):
                around = service.recall(
                    **ask, expand_context=expand_context, already_served=[ids["turn 0"]]
                ).context
                assert list(around.memory_ids) == list(plain.context.memory_ids)
                every = [*around.memory_ids, *around.surrounding_ids]
                assert len(set(every)) == len(every)
                assert ids["turn 0"] not in every
                assert set(around.surrounding_ids).isdisjoint(ids_of(plain))
                assert plain.context.tokens <= around.tokens <= budget


def test_surroundings_of_a_past_moment_are_of_that_moment(talking: Any) -> None:
    """Before the first memory was created, nothing is found or packed."""
    service, _ = talking
    reply = service.recall("ferry to Bergen", expand_context=SESSION, as_of={"seconds": 1_000_000_000})
    assert (len(reply.memories), reply.context.text) == (0, "")
