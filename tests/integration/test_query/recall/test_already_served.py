"""The two ends of a recall: waiting for one's own write, leaving out what was served, packing around."""

import itertools
import re
import threading
import time
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

NEVER = 2**64 - 1
NEIGHBOURS = recall_pb2.EXPAND_CONTEXT_NEIGHBOURS
SESSION = recall_pb2.EXPAND_CONTEXT_SESSION


def marker(number: int) -> dict[str, Any]:
    """A memory that says which generation it was written for."""
    return {"name": "marker", "text": f"The release marker is number {number}."}


def ids_of(reply: Any) -> list[str]:
    """Ids of a reply, best first."""
    return [found.memory.memory_id for found in reply.memories]


def test_a_recall_waits_for_its_own_write(corpus: Any, start: Any) -> None:
    """Answered once the generation that holds the event serves, and by that one; the wait is shown."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 1)
    replies: list[Any] = []
    asking = threading.Thread(target=lambda: replies.append(service.recall("release marker", min_seq=20)))
    asking.start()
    time.sleep(0.5)
    assert not replies
    corpus.add([marker(2)])
    corpus.publish()
    asking.join(timeout=10)
    reply = replies[0]
    assert (reply.generation, reply.applied_sequence, reply.wanted_sequence, reply.stale) == (
        2,
        20,
        20,
        False,
    )
    assert reply.memories[0].memory.text == "The release marker is number 2."
    assert reply.stages[0].stage == "wait"
    assert reply.stages[0].milliseconds >= 400
    assert reply.total_milliseconds >= reply.stages[0].milliseconds


def test_what_is_there_already_is_not_waited_for(answering: Any) -> None:
    """The generation holds sequence 10; no time is lost and nothing is stale."""
    service, _ = answering
    reply = service.recall("garden", min_seq=10)
    assert (reply.stale, reply.wanted_sequence, reply.applied_sequence) == (False, 10, 10)
    assert "wait" not in [stage.stage for stage in reply.stages]


def test_a_sequence_that_never_comes_is_answered_stale_before_the_deadline(answering: Any) -> None:
    """With what there is, and both sequences; the caller's own deadline counts as well as the server's."""
    service, ids = answering
    began = time.monotonic()
    request = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query="What did Caroline plant?", min_seq=NEVER
    )
    reply = service.stub().Recall(request, timeout=1.5)
    assert 0.5 < time.monotonic() - began < 1.5
    assert (reply.stale, reply.wanted_sequence, reply.applied_sequence) == (True, NEVER, 10)
    assert ids_of(reply)[0] == ids["Caroline planted tomatoes in the garden."]


def test_waiting_recalls_hold_up_nobody(corpus: Any, start: Any) -> None:
    """One worker, two places: both taken by waiting ones, and others are answered at once all the same."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(
        corpus.root,
        HELIX_QUERY_IN_FLIGHT="2",
        HELIX_QUERY_THREADS="1",
        HELIX_QUERY_DEADLINE_SECONDS="4",
        HELIX_QUERY_CHANNEL_DEADLINE_SECONDS="1.5",
    )
    service.wait_for(lambda at: at.status().generation == 1)
    service.recall("release marker")
    outcomes: list[str] = []

    def wait() -> None:
        try:
            outcomes.append("stale" if service.recall("release marker", min_seq=NEVER).stale else "fresh")
        except grpc.RpcError as error:
            outcomes.append(error.code().name)

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    time.sleep(0.7)
    # the third found no place to wait, and heard so at once
    assert outcomes == ["RESOURCE_EXHAUSTED"]
    began = time.monotonic()
    assert not service.recall("release marker").stale
    assert time.monotonic() - began < 1.0
    for thread in waiting:
        thread.join()
    assert sorted(outcomes) == ["RESOURCE_EXHAUSTED", "stale", "stale"]


def test_a_waiting_call_that_is_given_up_leaves_its_place(corpus: Any, start: Any) -> None:
    """Cancelled callers must not use up the places to wait."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="1")
    service.wait_for(lambda at: at.status().generation == 1)
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="marker", min_seq=NEVER)
    for _ in range(3):
        call = service.stub().Recall.future(request, timeout=5)
        time.sleep(0.3)
        call.cancel()
        time.sleep(0.2)
    assert service.stub().Recall(request, timeout=1).stale


def test_the_first_generation_is_waited_for_too(corpus: Any, start: Any) -> None:
    """A recall that names its write may come before there is anything at all."""
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 0)
    replies: list[Any] = []
    asking = threading.Thread(target=lambda: replies.append(service.recall("release marker", min_seq=1)))
    asking.start()
    corpus.add([marker(1)])
    corpus.publish()
    asking.join(timeout=10)
    assert (replies[0].generation, replies[0].stale) == (1, False)


def test_what_was_served_is_left_out_and_the_next_ones_move_up(answering: Any) -> None:
    """The delta is the longer answer without them, in its order, however many of them there are."""
    service, _ = answering
    query = "where is the garden of the staging server in Gdansk"
    whole = ids_of(service.recall(query, top_k=12))
    for served in (whole[:3], whole[2:5], [whole[0], whole[6], "0" * 32]):
        reply = service.recall(query, top_k=4, already_served=served)
        fresh = [identity for identity in whole if identity not in served][:4]
        assert ids_of(reply) == fresh
        assert [found.rank for found in reply.memories] == [1, 2, 3, 4]
        assert reply.already_served_count == len(set(served) & set(whole[: whole.index(fresh[-1])]))
        assert set(reply.context.memory_ids) <= set(fresh)


def test_when_all_was_served_nothing_comes_back(answering: Any) -> None:
    """A thousand ids are the most; with all of the tenant's among them the answer is empty."""
    service, ids = answering
    served = [*ids.values(), *(f"{number:032x}" for number in range(1_000 - len(ids)))]
    reply = service.recall("garden", already_served=served, top_k=200)
    assert ids_of(reply) == []
    assert reply.already_served_count > 10
    assert (reply.context.text, list(reply.context.surrounding_ids)) == ("", [])


def test_the_served_take_no_place_of_others_in_a_channel(corpus: Any, start: Any) -> None:
    """150 of 160 like memories were served: more than a channel returns, and the ten others come."""
    rows = [{"text": f"The lighthouse keeper wrote entry {number * 7919 % 997}."} for number in range(160)]
    ids = corpus.add(rows)
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 1)
    reply = service.recall("what did the lighthouse keeper write", top_k=200, already_served=ids[:150])
    assert set(ids_of(reply)) == set(ids[150:])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"already_served": ["0" * 32] * 1_001}, "already_served: must have at most 1000 entries"),
        ({"already_served": ["x"]}, "already_served: must be 32 hexadecimal digits in lower case"),
        ({"as_of": {"seconds": 2**60}}, "as_of: must be a time of the years 1 to 9999"),
        ({"as_of": {"seconds": -(2**40)}}, "as_of: must be a time of the years 1 to 9999"),
        ({"expand_context": 9}, "expand_context: is unknown; known: 0 to 3"),
    ],
)
def test_a_broken_limit_is_named_with_its_field(answering: Any, fields: dict[str, Any], message: str) -> None:
    """What breaks it is refused before anything is looked for."""
    service, _ = answering
    with pytest.raises(grpc.RpcError) as caught:
        service.recall("q", **fields)
    assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", message)


@pytest.mark.parametrize(
    ("seconds", "found"), [(-62_135_596_800, False), (253_402_300_799, True)], ids=["year 1", "year 9999"]
)
def test_any_moment_of_the_calendar_may_be_asked_for(answering: Any, seconds: int, found: bool) -> None:
    """Without `now` that moment is now, for time expressions too."""
    service, _ = answering
    request = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query="what did we discuss last week", as_of={"seconds": seconds}
    )
    reply = service.stub().Recall(request, timeout=10)
    assert bool(reply.memories) == found
    assert list(reply.degraded) == []


def test_hybrid_off_asks_the_dense_channel_alone(answering: Any) -> None:
    """Mode dense: no lexical hit, no newcomer of the graph, and the order of the cosine."""
    service, _ = answering
    query = "Who is the mother of the director of film Polish Summer?"
    reply = service.recall(query, mode=recall_pb2.MODE_DENSE, top_k=30)
    assert {channel for found in reply.memories for channel in found.channels} == {"dense"}
    cosines = [found.cosine for found in reply.memories]
    assert len(cosines) > 10
    # quality moves neighbours by a few percent at most
    assert all(later <= earlier + 0.05 for earlier, later in itertools.pairwise(cosines))
    hybrid = service.recall(query, top_k=30)
    assert {"lexical", "dense"} <= {channel for found in hybrid.memories for channel in found.channels}


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
    """A service on a conversation and a few others; ids by name or text."""
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
    """The turn before as [1-], the turn after as [1+]; the citation [1] stays the recalled one's alone."""
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
    """In its own order around the memory; where it does not fit, the neighbours."""
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


def test_by_default_nothing_stands_around(talking: Any) -> None:
    """The default of the profiles is none, and a request may say so, too."""
    service, _ = talking
    for fields in ({}, {"expand_context": recall_pb2.EXPAND_CONTEXT_NONE}):
        assert not service.recall("ferry to Bergen", **fields).context.surrounding_ids


def test_surroundings_hold_what_the_caller_may_see_alone(talking: Any) -> None:
    """Another user's turn, another tenant's of the same session, and a forgotten one never stand there."""
    service, ids = talking
    ask = {"query": "where does the walrus sleep", "top_k": 1}
    for expand_context in (NEIGHBOURS, SESSION):
        reply = service.recall(**ask, expand_context=expand_context)
        # the one taken back is passed over, the private one is simply not there
        assert list(reply.context.surrounding_ids) == [ids["It had been seen by the harbour master."]]
        own = service.recall(**ask, expand_context=expand_context, user="eve")
        assert ids["A private remark between the turns."] in own.context.surrounding_ids


def test_a_memory_of_no_session_has_no_neighbours_of_other_documents(talking: Any) -> None:
    """No session is not a session that everything shares."""
    service, _ = talking
    reply = service.recall("what does chapter one explain", top_k=1, expand_context=SESSION)
    assert reply.memories[0].memory.text == "Chapter one explains the compass."
    assert not reply.context.surrounding_ids


def test_nothing_is_packed_twice_and_nothing_recalled_gives_way(talking: Any) -> None:
    """Whatever the budget: the recalled as without surroundings, and every text at most once."""
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
    """Before anything was created there is nothing, neither found nor around."""
    service, _ = talking
    reply = service.recall("ferry to Bergen", expand_context=SESSION, as_of={"seconds": 1_000_000_000})
    assert (len(reply.memories), reply.context.text) == (0, "")
