"""Answers: the right memories, only visible ones, packed within the budget."""

from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

STAGES = ["embed", "route", "retrieve", "fuse", "expand", "rank", "rerank", "diversify",
          "fetch", "abstain", "pack"]  # fmt: skip
EVERY_PROFILE = pytest.mark.parametrize("profile", ["helix", "helix-reference", "cems", "engram"])
EVERY_MODE = pytest.mark.parametrize("mode", [0, 1, 2, 3])


def texts(reply: Any) -> list[str]:
    """Texts of a reply, best first."""
    return [found.memory.text for found in reply.memories]


def test_a_question_is_answered_with_everything_around_it(answering: Any) -> None:
    """Memories by rank, packed context, route, stage times and source."""
    service, ids = answering
    reply = service.recall("What did Caroline plant?")
    best = reply.memories[0]
    assert best.memory.text == "Caroline planted tomatoes in the garden."
    assert [found.rank for found in reply.memories] == list(range(1, len(reply.memories) + 1))
    assert sorted((found.score for found in reply.memories), reverse=True) == [
        found.score for found in reply.memories
    ]
    assert set(best.channels) >= {"dense", "lexical"}
    assert best.memory.memory_id == ids["Caroline planted tomatoes in the garden."]
    assert (best.memory.source.speaker, list(best.memory.entities)) == ("Caroline", ["caroline"])
    assert [stage.stage for stage in reply.stages] == STAGES
    assert reply.total_milliseconds >= sum(stage.milliseconds for stage in reply.stages) * 0.9
    assert (reply.generation, reply.applied_sequence, reply.ranking_profile) == (1, 10, "helix")
    assert list(reply.degraded) == []
    assert not reply.memories[0].memory.HasField("event_start")


def test_the_context_is_laid_out_outside_in_within_the_budget(answering: Any) -> None:
    """Best first, second best last; each with its citation; at most the budget in tokens."""
    service, _ = answering
    reply = service.recall("What did Caroline plant in the garden?", token_budget=60)
    packed = [found for found in reply.memories if found.packed]
    assert 2 <= len(packed) < len(reply.memories)
    assert reply.context.tokens <= 60
    assert reply.context.memory_ids[0] == packed[0].memory.memory_id
    assert reply.context.memory_ids[-1] == packed[1].memory.memory_id
    assert reply.context.text.startswith("[1] 2026-02-22, Caroline\nCaroline planted tomatoes")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what does src/app/loader.py raise", "src/app/loader.py raises ConfigError when the file is empty."),
        ("ConfigError", "src/app/loader.py raises ConfigError when the file is empty."),
        ("why did we choose the database", "We chose Postgres because of its transactions."),
        ("how do I restart the worker", "Restart the worker with systemctl restart helix-worker."),
    ],
)
@pytest.mark.parametrize("mode", [0, 3])
def test_meaning_and_exact_tokens_both_find(answering: Any, query: str, expected: str, mode: int) -> None:
    """Dense misses an exact path, BM25 misses a paraphrase; together they find both."""
    service, _ = answering
    assert texts(service.recall(query, mode=mode))[0] == expected


def test_the_latest_value_leads_when_asked_for_the_current_one(answering: Any) -> None:
    """Of two similar statements about one port, the later one is first."""
    service, _ = answering
    reply = service.recall("what is the current port of the staging server")
    assert "current_value" in reply.route.intents
    assert texts(reply)[0] == "The staging server listens on port 6432 now."


def test_a_multi_hop_question_reaches_what_shares_only_an_entity(answering: Any) -> None:
    """The mother of the director of X: the second hop never names the film."""
    service, _ = answering
    reply = service.recall("Who is the mother of the director of film Polish Summer?")
    assert "multi_hop" in reply.route.intents
    assert {"Polish Summer is a film directed by Jan Nowak.",
            "Jan Nowak was born in Gdansk; his mother was Maria Nowak."} == set(texts(reply)[:2])  # fmt: skip


def test_a_time_in_the_question_prefers_what_happened_then(answering: Any) -> None:
    """On 4 March 2026 "last week" prefers the meeting of 25 February to that of autumn."""
    service, _ = answering
    reply = service.recall("what did we discuss with the auditors last week")
    assert reply.route.window_start.ToDatetime().isoformat() == "2026-02-23T00:00:00"
    assert texts(reply)[0] == "We met the auditors last week about invoices."
    assert "We met the auditors in autumn about invoices." in texts(reply)


def test_a_skipped_query_returns_at_once(answering: Any) -> None:
    """Nothing is searched after the route; `never_skip` searches anyway."""
    service, _ = answering
    reply = service.recall("what is 17 * 23")
    assert reply.route.skipped
    assert len(reply.memories) == 0
    assert [stage.stage for stage in reply.stages] == ["embed", "route"]
    assert not service.recall("what is 17 * 23", never_skip=True).route.skipped


@EVERY_PROFILE
@EVERY_MODE
@pytest.mark.parametrize(
    ("caller", "query", "never"),
    [
        ({"user": "ann"}, "where is the spare garage key", {"bob private", "globex secret"}),
        ({"user": "bob"}, "where is the spare garage key", {"ann private"}),
        ({}, "where is the spare garage key", {"ann private", "bob private"}),
        ({"user": "ann"}, "what did the board approve about Initech", {"board only"}),
        ({}, "what is the ficus office plant called", {"deleted"}),
        ({}, "what does the canteen offer", {"expired", "no longer valid", "not yet valid"}),
        ({}, "where is the vault code of Globex, says Jan Nowak", {"globex secret"}),
        (
            {"user": "bob"},
            "Who is the mother of the director of film Polish Summer?",
            {"ann linked", "deleted linked", "expired linked", "board linked"},
        ),
    ],
)
def test_what_the_caller_may_not_see_never_comes_back(
    answering: Any, profile: str, mode: int, caller: Any, query: str, never: set[str]
) -> None:
    """Tenant, owner, access list, hiding, expiry and validity hold in every mode and profile."""
    service, ids = answering
    reply = service.recall(query, ranking_profile=profile, mode=mode, top_k=200, never_skip=True, **caller)
    found = {memory.memory.memory_id for memory in reply.memories}
    assert found.isdisjoint(ids[name] for name in never)
    assert found
    assert all(memory.memory.tenant_id == "acme" for memory in reply.memories)


def test_those_who_may_see_do(answering: Any) -> None:
    """The owner, a principal of the access list and the other tenant see their own."""
    service, ids = answering
    first = service.recall("where is the spare garage key", user="ann").memories[0].memory.memory_id
    assert first == ids["ann private"]
    reply = service.recall("what did the board approve about Initech", principals=["staff", "board"])
    assert reply.memories[0].memory.memory_id == ids["board only"]
    assert texts(service.recall("vault code", tenant="globex")) == [
        "Globex keeps the vault code behind the painting."
    ]


def test_validity_is_judged_by_the_clock_of_the_server(answering: Any) -> None:
    """`now`, two days earlier or later, does not bring back memories that are not valid."""
    service, ids = answering
    for seconds in (1772452800, 1772798400):  # 2 and 6 March 2026
        reply = service.recall("canteen", now={"seconds": seconds}, top_k=50)
        found = {memory.memory.memory_id for memory in reply.memories}
        assert found.isdisjoint(ids[name] for name in ("expired", "no longer valid", "not yet valid"))


def test_filters_narrow_before_ranking(answering: Any) -> None:
    """Types, sessions and event times are strict conditions."""
    service, _ = answering
    typed = service.recall("port of the staging server", filter={"types": ["code", "decision"]})
    assert {found.memory.type for found in typed.memories} <= {"code", "decision"}
    assert len(typed.memories) == 2
    session = service.recall("what did Melanie do", filter={"session_ids": ["s2"]})
    assert texts(session) == ["Melanie ran a charity race on Sunday."]
    late = service.recall("auditors", filter={"event_after": {"seconds": 1772323200}})  # 1 March 2026
    assert all(found.memory.occurred_at.seconds >= 1772323200 for found in late.memories)
    assert texts(service.recall("race", filter={"session_ids": ["' OR 1=1 --"]})) == []


def test_modes_ask_the_channels_they_name(answering: Any) -> None:
    """Dense alone, both, and lexical alone if its match is clear."""
    service, _ = answering
    dense = service.recall("What did Caroline plant?", mode=recall_pb2.MODE_DENSE)
    assert {channel for found in dense.memories for channel in found.channels} == {"dense"}
    hybrid = service.recall("What did Caroline plant?")
    assert {"dense", "lexical"} <= {channel for found in hybrid.memories for channel in found.channels}


def test_top_k_is_the_number_of_memories(answering: Any) -> None:
    """The default is 10."""
    service, _ = answering
    assert len(service.recall("garden", top_k=1).memories) == 1
    assert len(service.recall("garden").memories) == 10


def test_an_unknown_tenant_knows_nothing(answering: Any) -> None:
    """The answer is empty and not an error, so that it does not reveal whether a tenant exists."""
    service, _ = answering
    reply = service.recall("where is the key", tenant="nobody")
    assert len(reply.memories) == 0
    assert reply.generation == 1
    assert reply.context.text == ""


def test_the_same_question_gets_the_same_answer(answering: Any) -> None:
    """A recall does not depend on chance or thread timing."""
    service, _ = answering
    replies = [service.recall("who was born in Gdansk") for _ in range(5)]
    answers = {tuple((found.memory.memory_id, found.score) for found in reply.memories) for reply in replies}
    assert len(answers) == 1


def test_the_graph_finds_what_no_channel_was_asked_for(answering: Any) -> None:
    """With a filter by type, the graph adds only memories of that type."""
    service, ids = answering
    reply = service.recall(
        "Who is the mother of the director of film Polish Summer?", filter={"types": ["episodic"]}, user="ann"
    )
    found = {memory.memory.memory_id for memory in reply.memories}
    assert ids["ann linked"] in found
    assert {memory.memory.type for memory in reply.memories} == {"episodic"}


def test_one_memory_by_id(answering: Any) -> None:
    """The owner gets all fields."""
    service, ids = answering
    request = recall_pb2.GetMemoryRequest(
        scope={"tenant_id": "acme", "user_id": "ann"}, memory_id=ids["ann private"]
    )
    reply = service.stub().GetMemory(request, timeout=5)
    assert reply.memory.text == "Ann keeps the spare garage key under the blue pot."
    assert (reply.memory.memory_id, reply.generation) == (ids["ann private"], 1)


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        ({"tenant_id": "acme", "user_id": "bob"}, "ann private"),
        ({"tenant_id": "acme"}, "ann private"),
        ({"tenant_id": "globex", "user_id": "ann"}, "ann private"),
        ({"tenant_id": "acme"}, "globex secret"),
        ({"tenant_id": "acme", "principals": ["staff"]}, "board only"),
        ({"tenant_id": "acme"}, "deleted"),
        ({"tenant_id": "acme"}, "expired"),
        ({"tenant_id": "acme"}, "absent"),
    ],
)
def test_a_memory_out_of_reach_is_not_found(answering: Any, scope: dict[str, Any], name: str) -> None:
    """Absent, foreign, private and hidden memories give the same error."""
    service, ids = answering
    request = recall_pb2.GetMemoryRequest(scope=scope, memory_id=ids.get(name, "0" * 32))
    with pytest.raises(grpc.RpcError) as caught:
        service.stub().GetMemory(request, timeout=5)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_status_reports_what_is_served(answering: Any, encoder: Any) -> None:
    """Generation, model and counts, without hidden memories."""
    service, ids = answering
    status = service.status()
    assert (status.generation, status.applied_sequence, status.derived_sequence) == (1, 10, 20)
    assert (status.model, status.model_checksum) == (encoder.card.name, encoder.card.checksum)
    assert status.memories == len(ids) - 3
    assert status.entities > 0
    assert status.edges > 0
    assert status.uptime_seconds > 0


def test_no_row_had_to_be_withheld_at_the_last_moment(answering: Any) -> None:
    """The check at fetch is independent of the first one."""
    service, _ = answering
    assert "row_withheld" not in service.log.read_text()
