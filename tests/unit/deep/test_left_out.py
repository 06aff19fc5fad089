"""What a deep recall says of a stage that does not run: the reason is the true one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix_deep.deep_recall import RETRIEVE, Ask, DeepRecall
from helix_deep.progress import Progress
from helix_deep.questions.kinds import HYDE, MULTI_QUERY, RERANK, SYNTHESISE
from helix_deep.questions.limits import Budget, DailyTokens
from helix_deep.questions.model import NO_TOKENS, NO_TOKENS_TODAY, Model
from helix_memory.deep.v1 import deep_pb2
from helix_memory.recall.v1 import recall_pb2
from helix_shared.endpoint.client import Question, Reply


class Query:
    """A query service with the same memories for every list."""

    def __init__(self, *memories: recall_pb2.Memory) -> None:
        found = [recall_pb2.RecalledMemory(memory=one, score=1.0) for one in memories]
        self._answer = recall_pb2.RecallResponse(memories=found)

    async def recalls(self, _scope: Any, requests: Any, _metadata: Any, *, until: float) -> list[Any]:
        """One for each request."""
        assert until
        return [self._answer for _ in requests]

    async def pack(self, _recall: Any, memory_ids: Any, _metadata: Any, *, until: float) -> Any:
        """All of them."""
        assert until
        return recall_pb2.PackResponse(memory_ids=memory_ids)


def said(number: int, *flags: str) -> recall_pb2.Memory:
    """A memory of its own."""
    return recall_pb2.Memory(memory_id=f"{number:032x}", text=f"The code of door {number}.", flags=flags)


async def reranked(query: Any, *, tokens: int = 16_000, day: int = 0) -> deep_pb2.StageProgress:
    """How reranking ended, where the model must not be asked."""
    endpoint: Any = None
    model = Model(endpoint, Budget(seconds=5, tokens=tokens), DailyTokens(day), "acme")
    progress = Progress(lambda _: None)
    asked = Ask(recall_pb2.RecallRequest(query="which code?"), [RERANK], "2026-12-01", 40)
    await DeepRecall(asked, query, progress, model, until=1e12).run()
    [ended] = [one for one in progress.ended if one.stage == RERANK]
    return ended


async def test_memories_with_credentials_are_no_want_of_tokens() -> None:
    """One memory is left to show, so there is nothing to compare; that is not left out."""
    ended = await reranked(Query(said(1), said(2, "secret")))
    assert ended.state == deep_pb2.STAGE_STATE_SKIPPED
    assert ended.reason == "there are no two memories that the language model may compare"


@pytest.mark.parametrize(("limits", "reason"), [({"tokens": 50}, NO_TOKENS), ({"day": 50}, NO_TOKENS_TODAY)])
async def test_the_limit_that_leaves_no_tokens_is_named(limits: dict[str, int], reason: str) -> None:
    """An operator raises the one of the call, or the one of the day."""
    ended = await reranked(Query(said(1), said(2)), **limits)
    assert (ended.state, ended.reason) == (deep_pb2.STAGE_STATE_LEFT_OUT, reason)


class ForAdvice(Query):
    """The same for a question for advice, of a user with a profile."""

    def __init__(self, *lines: str) -> None:
        super().__init__(said(1))
        self._answer.route.intents.append("preference")
        self._profile = recall_pb2.Profile(lines=[recall_pb2.ProfileLine(text=line) for line in lines])

    async def profile(self, *_: Any, **__: Any) -> recall_pb2.Profile:
        """All lines."""
        return self._profile


class Listening:
    """A language model that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def ask(self, question: Question, *, seconds: float) -> Reply:
        """One imagined note."""
        assert seconds > 0
        self.asked.append(question)
        return Reply('{"notes": ["I use a red one."]}', is_cut=False, prompt_tokens=9, completion_tokens=9)


async def test_a_credential_in_the_profile_is_not_sent() -> None:
    """As of memories and turns, the language model sees the other lines alone."""
    endpoint: Any = Listening()
    query: Any = ForAdvice("I always connect with postgres://app:t0psecret@db/main.", "I prefer red ones.")
    model = Model(endpoint, Budget(seconds=5, tokens=16_000), DailyTokens(0), "acme")
    asked = Ask(recall_pb2.RecallRequest(query="which one for me?"), [HYDE], "2026-12-01", 40)
    await DeepRecall(asked, query, Progress(lambda _: None), model, until=1e12).run()
    [question] = endpoint.asked
    assert json.loads(question.text)["profile"] == ["I prefer red ones."]


class Repeating:
    """A language model that gives the same text to every stage."""

    async def ask(self, _question: Question, *, seconds: float) -> Reply:
        """One text, in the list of each stage."""
        assert seconds > 0
        answer = {key: ["the code of the door"] for key in ("terms", "questions")}
        return Reply(json.dumps(answer), is_cut=False, prompt_tokens=9, completion_tokens=9)


async def test_a_text_of_two_stages_is_searched_for_once() -> None:
    """A list that came twice would count twice in the order."""
    endpoint: Any = Repeating()
    query: Any = Query(said(1))
    model = Model(endpoint, Budget(seconds=5, tokens=16_000), DailyTokens(0), "acme")
    asked = Ask(recall_pb2.RecallRequest(query="which code?"), [SYNTHESISE, MULTI_QUERY], "2026-12-01", 40)
    progress = Progress(lambda _: None)
    await DeepRecall(asked, query, progress, model, until=1e12).run()
    [retrieved] = [one for one in progress.ended if one.stage == RETRIEVE]
    assert (list(retrieved.asked), retrieved.lists) == (["the code of the door"], 1)
