"""`explain` over gRPC: all candidates of real generations, recomputed exactly under every profile."""

from typing import Any

import pytest

from helix_memory.explanation import fused, recompute
from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

PROFILES = ("helix", "helix-reference", "cems", "engram")
QUESTIONS = (
    "Where was Jan Nowak's mother born?",
    "Which port does the staging server listen on now?",
    "What did we discuss with the auditors last week?",
    "Can you recommend something for the garden?",
    "src/app/loader.py ConfigError",
    "How many times did we meet the auditors?",
)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("query", QUESTIONS)
def test_every_final_score_follows_from_the_explanation(answering: Any, profile: str, query: str) -> None:
    """To the last bit, for returned and dropped candidates; `explain` does not change the answer."""
    service, _ = answering
    asked = {"ranking_profile": profile, "project_id": "p", "top_k": 3, "token_budget": 40}
    plain, told = service.recall(query, **asked), service.recall(query, explain=True, **asked)
    candidates = {one.memory_id: one for one in told.explanation.candidates}
    assert not plain.HasField("explanation")
    assert [one.memory.memory_id for one in plain.memories] == [one.memory.memory_id for one in told.memories]
    assert candidates
    for one in candidates.values():
        assert recompute(one) == one.score
        assert fused(one.fusion) == one.fusion.score
    for found in told.memories:
        one = candidates[found.memory.memory_id]
        assert (one.score, one.rank, one.packed) == (found.score, found.rank, found.packed)
    assert told.explanation.withheld == 0


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("count", [1, 3, 10_000])
def test_a_short_explanation_is_the_beginning_of_the_whole_one(
    answering: Any, profile: str, count: int
) -> None:
    """Number for number, also the words that matched; the answer and the count are those of all."""
    service, _ = answering
    asked = {"ranking_profile": profile, "explain": True, "top_k": 3}
    whole = service.recall(QUESTIONS[1], **asked)
    short = service.recall(QUESTIONS[1], **asked, explained_candidates=count)
    assert list(short.explanation.candidates) == list(whole.explanation.candidates)[:count]
    assert short.memories == whole.memories
    for one in short, whole:
        assert one.explanation.candidate_count == len(whole.explanation.candidates) > 3
        assert one.explanation.withheld == 0


def test_every_candidate_has_its_fate(answering: Any) -> None:
    """Returned, or dropped with the stage; only the token budget drops a returned memory."""
    service, ids = answering
    reply = service.recall("where was Jan Nowak born", explain=True, top_k=2, token_budget=25)
    losses = {one.memory_id: one for one in reply.explanation.candidates}
    for one in losses.values():
        assert (one.dropped_by == "") == one.packed == (one.loss == recall_pb2.LOSS_NONE)
        assert (one.rank > 0) == (one.loss in {recall_pb2.LOSS_NONE, recall_pb2.LOSS_TOKEN_BUDGET})
    assert losses[reply.context.memory_ids[0]].loss == recall_pb2.LOSS_NONE
    assert recall_pb2.LOSS_TOP_K in {one.loss for one in losses.values()}
    assert "explain" in [stage.stage for stage in reply.stages]
    best = losses[ids["Jan Nowak was born in Gdansk; his mother was Maria Nowak."]]
    assert {hit.channel for hit in best.hits} == {"dense", "lexical"}


def test_what_the_caller_has_is_explained_as_such(answering: Any) -> None:
    """It stays a candidate."""
    service, _ = answering
    first = service.recall("where was Jan Nowak born", top_k=1).memories[0].memory.memory_id
    reply = service.recall("where was Jan Nowak born", top_k=1, already_served=[first], explain=True)
    one = next(one for one in reply.explanation.candidates if one.memory_id == first)
    assert (one.loss, one.dropped_by) == (recall_pb2.LOSS_ALREADY_SERVED, "diversify")


def test_an_explanation_holds_nothing_foreign(answering: Any) -> None:
    """Ann's linked memory is a candidate for Ann alone; deleted and expired ones are for no caller."""
    service, ids = answering
    for user, private in (("", False), ("bob", False), ("ann", True)):
        reply = service.recall("Who is Maria Nowak?", user=user, explain=True)
        seen = {one.memory_id for one in reply.explanation.candidates}
        assert (ids["ann linked"] in seen) is private
        assert seen.isdisjoint(ids[name] for name in ("deleted linked", "expired linked", "board linked"))
        assert ids["globex secret"] not in seen


def test_a_skipped_question_has_nothing_to_explain(answering: Any) -> None:
    """Nothing was searched."""
    service, _ = answering
    reply = service.recall("hello there!", explain=True)
    assert reply.route.skipped
    assert not reply.HasField("explanation")
