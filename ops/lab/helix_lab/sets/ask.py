"""One question as a request, one reply as an answer: the same on both paths.

`direct` answers the request in process, `stream` over gRPC.
"""

from __future__ import annotations

from collections.abc import Mapping

from helix_lab.sets.answers import Answer
from helix_lab.sets.data import EvaluationSet, Question
from helix_lab.sets.handles import end_of, handle, moment, tenant_of
from helix_memory.recall.v1 import recall_pb2

CONFIDENT_OF: int = 10
"""Number of first memories whose best cosine is the confidence of an answer."""


def names_of(data: EvaluationSet) -> dict[str, str]:
    """Document id of every handle."""
    return {handle("document", data.name, document.id): document.id for document in data.documents}


def request_of(
    data: EvaluationSet, question: Question, *, profile: str, top_k: int
) -> recall_pb2.RecallRequest:
    """The request of a question, at the moment it is asked; nothing in it is the set's own id.

    A set holds what was said after the question too. Whoever asks then cannot know it, hence `valid_at`.
    """
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id=tenant_of(data.name, question.tenant)),
        query=question.text,
        top_k=top_k,
        ranking_profile=profile,
    )
    asked_at = moment(question.timestamp)
    if asked_at is not None:
        request.now.FromDatetime(asked_at)
        request.valid_at.FromDatetime(end_of(question.timestamp, asked_at))
    return request


def answer_of(
    reply: recall_pb2.RecallResponse, question: Question, names: Mapping[str, str], *, milliseconds: float
) -> Answer:
    """The answer in a reply, `names` as of `names_of`.

    Its confidence is the reply's probability. Where a ranking profile gives none, it is the best cosine of
    the first memories, the only other figure that compares across replies.
    """
    documents = [names[found.memory.source.event_id] for found in reply.memories]
    by_memory = {found.memory.memory_id: name for found, name in zip(reply.memories, documents, strict=True)}
    cosines = [found.cosine for found in reply.memories[:CONFIDENT_OF]]
    return Answer(
        question_id=question.id,
        ranking=tuple(dict.fromkeys(documents)),
        milliseconds=milliseconds,
        stages_ms={stage.stage: stage.milliseconds for stage in reply.stages},
        skipped=reply.route.skipped,
        packed=tuple(
            dict.fromkeys(by_memory[one] for one in (*reply.context.memory_ids, *reply.context.quoted_ids))
        ),
        packed_tokens=reply.context.tokens,
        confidence=reply.relevance if reply.HasField("relevance") else max(cosines, default=-1.0),
    )
