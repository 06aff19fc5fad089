"""WhyNot of memories that a later one replaced or that have expired: the verdict is that of the recall."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2
from helix_shared.identity import memory_id

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
Told = Callable[..., AbstractContextManager[Any]]


def _id(name: str) -> str:
    return memory_id("acme", f"acme/{name}", 0)


def _replaced(name: str, text: str, by: str, **fields: Any) -> dict[str, Any]:
    hidden = {"hidden": True, "is_latest": False, "superseded_by": _id(by)}
    return {"name": name, "text": text, "occurred_at": NOW - 90 * DAY} | hidden | fields


ROWS: list[dict[str, Any]] = [
    _replaced("old", "The code of the garden gate is 1907.", "new", closed_at=NOW - 30 * DAY),
    {"name": "new", "text": "The code of the garden gate is 4471 now.", "occurred_at": NOW - 30 * DAY},
    _replaced("wrong", "The code of the bicycle shed is 1234.", "right"),
    _replaced(
        "over", "The code of the attic is 8080.", "new", closed_at=NOW - 30 * DAY, expires_at=NOW - 20 * DAY
    ),
    {
        "name": "pizza",
        "text": "The canteen offers pizza.",
        "occurred_at": NOW - 9 * DAY,
        "expires_at": NOW - DAY,
    },
    {"name": "right", "text": "The code of the bicycle shed is 4321.", "corrects": _id("wrong")},
    *(
        {"name": f"shelf {n}", "text": f"Shelf {n} of the shed holds screws.", "type": "semantic"}
        for n in range(9)
    ),
]


def _request(query: str, **fields: Any) -> recall_pb2.RecallRequest:
    return recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query=query, **fields)


def _why_not(stub: Any, request: recall_pb2.RecallRequest, name: str) -> recall_pb2.WhyNotResponse:
    asked = recall_pb2.WhyNotRequest(recall=request, memory_id=_id(name))
    reply: recall_pb2.WhyNotResponse = stub.WhyNot(asked, timeout=10)
    return reply


def test_a_replaced_memory_that_the_question_asks_for_is_judged_as_any_other(
    told: Told, tmp_path: Path
) -> None:
    """It is in the answer to "what was the old code"; with a budget without room the advice brings it in."""
    question = "what was the old code of the garden gate?"
    with told(tmp_path, ROWS) as stub:
        packed = stub.Recall(_request(question), timeout=10).context.memory_ids
        assert _id("old") in packed
        reply = _why_not(stub, _request(question), "old")
        assert (reply.loss, reply.advice) == (recall_pb2.LOSS_NONE, "")
        assert reply.candidate.packed

        small = _request(question, token_budget=1)
        reply = _why_not(stub, small, "old")
        assert reply.loss == recall_pb2.LOSS_TOKEN_BUDGET
        again, _ = changed(small, reply.changes)
        assert _id("old") in stub.Recall(again, timeout=10).context.memory_ids

        filtered = _request(question, filter={"types": ["semantic"]})
        reply = _why_not(stub, filtered, "old")
        assert (reply.loss, list(reply.filter_fields)) == (recall_pb2.LOSS_FILTER, ["filter.types"])


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("what is the code of the garden gate?", "old"),
        # a correction says that it was wrong, so the past tense alone does not ask for it
        ("what was the code of the bicycle shed?", "wrong"),
    ],
)
def test_another_question_is_told_what_replaced_it(told: Told, tmp_path: Path, query: str, name: str) -> None:
    """Such a question cannot return it."""
    with told(tmp_path, ROWS) as stub:
        found = [one.memory.memory_id for one in stub.Recall(_request(query), timeout=10).memories]
        assert _id(name) not in found
        reply = _why_not(stub, _request(query), name)
        assert (reply.loss, reply.replays) == (recall_pb2.LOSS_REPLACED, 0)


@pytest.mark.parametrize(
    ("name", "query", "expired", "before"),
    [
        ("pizza", "what does the canteen offer?", "2026-03-03", NOW - 2 * DAY),
        ("over", "what is the code of the attic?", "2026-02-12", NOW - 40 * DAY),
        ("over", "what was the old code of the attic?", "2026-02-12", NOW - 40 * DAY),
    ],
)
def test_an_expired_memory_is_brought_in_by_as_of_alone(
    told: Told, tmp_path: Path, name: str, query: str, expired: str, before: datetime
) -> None:
    """It was known then; `valid_at` asks what is known now."""
    rows = [row | {"created_at": row.get("occurred_at", NOW - 90 * DAY)} for row in ROWS]
    with told(tmp_path, rows) as stub:
        reply = _why_not(stub, _request(query), name)
        assert f"It expired on {expired} 12:00 UTC." in reply.verdict
        assert "as_of" in reply.advice
        assert "valid_at" not in reply.advice
        moments = {"as_of": before}, {"valid_at": before}
        as_of, valid_at = (stub.Recall(_request(query, **one), timeout=10) for one in moments)
        assert _id(name) in [one.memory.memory_id for one in as_of.memories]
        assert _id(name) not in [one.memory.memory_id for one in valid_at.memories]
