"""At a past moment a memory that was replaced or answered since is shown and ranked as it was then."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_shared.identity import memory_id

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
GATE = "The code of the garden gate is 1907."
LATER = "The code of the garden gate is 4471 now."
Told = Callable[..., AbstractContextManager[Any]]


def _row(text: str, days_ago: int, **fields: Any) -> dict[str, Any]:
    at = NOW - days_ago * DAY
    return {"text": text, "occurred_at": at, "created_at": at, **fields}


@pytest.mark.parametrize(
    ("moment", "is_lowered"),
    [({}, True), ({"as_of": NOW - 10 * DAY}, False), ({"valid_at": NOW - 10 * DAY}, False)],
)
def test_what_was_replaced_since_is_not_lowered(
    told: Told, tmp_path: Path, moment: dict[str, Any], *, is_lowered: bool
) -> None:
    """A question in the past tense lowers what has been replaced; at that moment it had not been."""
    hidden = {"hidden": True, "is_latest": False, "superseded_by": memory_id("acme", f"acme/{LATER}", 0)}
    others = [_row(f"The code of shelf {n} in the garden is {n}.", 50) for n in range(5)]
    rows = [_row(GATE, 90, closed_at=NOW - 3 * DAY, **hidden), *others, _row(LATER, 3)]
    with told(tmp_path, rows) as stub:
        scope, query = {"tenant_id": "acme"}, "what was the code of the garden gate?"
        asked = recall_pb2.RecallRequest(scope=scope, query=query, explain=True, **moment)
        candidates = stub.Recall(asked, timeout=10).explanation.candidates
    [gate] = [one for one in candidates if one.excerpt == GATE]
    lowering = [step.value for step in gate.steps if step.name == "held_then" and step.value < 1.0]
    assert bool(lowering) == is_lowered


@pytest.mark.parametrize("moment", ["as_of", "valid_at"])
def test_what_was_told_since_does_not_show(told: Told, tmp_path: Path, moment: str) -> None:
    """Neither the end that a later memory set nor the answer; an end that its own event named does."""

    def id_of(text: str) -> str:
        return memory_id("acme", f"acme/{text}", 0)

    asked, answer, late = "Where is the ladder?", "In the barn.", "By the river."
    shut, shuts = "The pool is closed.", NOW - DAY
    hidden = {"hidden": True, "is_latest": False, "superseded_by": id_of(LATER)}
    rows = [
        _row(GATE, 90, closed_at=NOW - 3 * DAY, **hidden),
        _row(LATER, 3),
        _row(shut, 40, valid_to=shuts),
        _row(asked, 30, speech_act="question", answered_by=id_of(answer)),
        _row(answer, 20, answers=id_of(asked)),
        _row("Where is the boat?", 15, speech_act="question", answered_by=id_of(late)),
        _row(late, 2),
    ]
    with told(tmp_path, rows) as stub:
        at = {moment: NOW - 10 * DAY}
        page = stub.ListMemories(
            recall_pb2.ListMemoriesRequest(scope={"tenant_id": "acme"}, **at), timeout=10
        )
        then = {one.text: one for one in page.memories}
    assert sorted(then) == sorted([GATE, shut, asked, answer, "Where is the boat?"])
    assert {text for text, one in then.items() if one.HasField("valid_to")} == {shut}
    assert then[shut].valid_to.ToDatetime(UTC) == shuts
    assert {text: one.answered_by for text, one in then.items() if one.answered_by} == {asked: id_of(answer)}
