"""Questions, answers and derived statements in the answer of a running service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_memory.explanation import recompute
from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

QUESTION = "Will you still run the half marathon in Graz?"
ANSWER = "No, I sold my ticket."
DERIVED = "Will you still run the half marathon in Graz? No, I sold my ticket."
OTHER = "The half marathon in Graz starts at nine."
OPEN = "Which shoes do you wear for the half marathon?"
ROWS: list[dict[str, Any]] = [
    {"text": QUESTION, "role": "assistant", "session_id": "s1", "speech_act": "question"},
    {"text": ANSWER, "session_id": "s1", "speech_act": "statement"},
    {"text": OTHER, "session_id": "s2", "speech_act": "statement"},
    {"text": OPEN, "role": "assistant", "session_id": "s2", "speech_act": "question"},
    {"text": "The car needs new tyres before winter.", "session_id": "s3", "speech_act": "statement"},
]


@pytest.fixture(scope="module")
def marathon(
    tmp_path_factory: pytest.TempPathFactory, corpus_type: Any, encoder: Any, serve: Any
) -> Iterator[tuple[Any, dict[str, str]]]:
    """A service on a question, its answer, and the statement derived from the answer."""
    folder: Path = tmp_path_factory.mktemp("marathon")
    corpus = corpus_type.create(folder / "data", encoder)
    ids = dict(zip([row["text"] for row in ROWS], corpus.add([dict(row) for row in ROWS]), strict=True))
    question, answer = dict(ROWS[0]), dict(ROWS[1])
    corpus.add([question | {"answered_by": ids[ANSWER]}, answer | {"answers": ids[QUESTION]}])
    derived = {"text": DERIVED, "session_id": "s1", "answers": ids[QUESTION], "derived_from": ids[ANSWER]}
    ids[DERIVED] = corpus.add([derived])[0]
    corpus.publish()
    corpus.live.close()
    service = serve(folder)
    yield service, ids
    assert service.stop() == 0


def test_the_derived_answer_stands_once_and_above_every_question(marathon: Any) -> None:
    """It takes the place of the turn; the questions are behind every statement."""
    service, _ = marathon
    reply = service.recall("half marathon in Graz", explain=True)
    texts = [found.memory.text for found in reply.memories]
    assert DERIVED in texts
    assert ANSWER not in texts
    assert set(texts[:2]) == {DERIVED, OTHER}
    assert ANSWER not in reply.context.text.replace(DERIVED, "")
    assert all(recompute(one) == one.score for one in reply.explanation.candidates)


@pytest.mark.parametrize("around", [recall_pb2.EXPAND_CONTEXT_NONE, recall_pb2.EXPAND_CONTEXT_NEIGHBOURS])
def test_a_question_that_a_packed_statement_quotes_is_not_packed(marathon: Any, around: Any) -> None:
    """It stays in the answer, without a text of its own; an open question is packed."""
    service, ids = marathon
    reply = service.recall("half marathon in Graz", expand_context=around)
    recalled = [found.memory.memory_id for found in reply.memories]
    assert {ids[QUESTION], ids[DERIVED], ids[OPEN]} <= set(recalled)
    assert reply.context.text.count(QUESTION) == 1
    assert set(recalled) - set(reply.context.memory_ids) == {ids[QUESTION]}
    assert list(reply.context.quoted_ids) == [ids[QUESTION]]


def test_a_quoted_question_is_no_neighbour_of_its_statement(marathon: Any) -> None:
    """The statement alone is recalled; the turn before it adds nothing."""
    service, ids = marathon
    reply = service.recall(
        "half marathon ticket sold", top_k=1, expand_context=recall_pb2.EXPAND_CONTEXT_NEIGHBOURS
    )
    assert list(reply.context.memory_ids) == [ids[DERIVED]]
    assert list(reply.context.surrounding_ids) == []


def test_why_not_says_which_statement_quotes_the_question(marathon: Any) -> None:
    """And that a profile may pack both."""
    service, ids = marathon
    recall = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id="acme"), query="half marathon in Graz", top_k=10, explain=True
    )
    reply = service.stub().WhyNot(
        recall_pb2.WhyNotRequest(recall=recall, memory_id=ids[QUESTION]), timeout=20
    )
    assert (reply.loss, reply.stage) == (recall_pb2.LOSS_QUOTED, "pack")
    assert ids[DERIVED] in reply.verdict
    assert [change.profile_key for change in reply.changes] == ["pack.leave_out_quoted"]
    candidate = next(
        one
        for one in service.stub().Recall(recall, timeout=20).explanation.candidates
        if one.memory_id == ids[QUESTION]
    )
    assert (candidate.packed, candidate.loss) == (False, recall_pb2.LOSS_QUOTED)


def test_who_asks_what_was_asked_gets_the_question(marathon: Any) -> None:
    """A query about questions puts none behind."""
    service, _ = marathon
    reply = service.recall("What did you ask me about shoes for the half marathon?")
    assert reply.memories[0].memory.text == OPEN


def test_why_not_says_that_the_statement_replaces_the_turn(marathon: Any) -> None:
    """And that the turn comes back if the profile keeps both."""
    service, ids = marathon
    recall = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id="acme"), query="half marathon ticket", top_k=10
    )
    reply = service.stub().WhyNot(recall_pb2.WhyNotRequest(recall=recall, memory_id=ids[ANSWER]), timeout=20)
    assert reply.loss == recall_pb2.LOSS_SAME_TURN
    assert ids[DERIVED] in reply.verdict
    assert [change.profile_key for change in reply.changes] == ["diversify.one_per_turn"]
