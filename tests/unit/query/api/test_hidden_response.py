"""The verdict on a memory that no recall of the present returns."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from helix_query.api.responses.why_not import hidden_response
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.hidden_memory import Hidden

MOMENT = datetime(2026, 3, 2, tzinfo=UTC)
SNAPSHOT: Any = SimpleNamespace(number=3)


@pytest.mark.parametrize(
    ("loss", "verdict", "advice"),
    [
        (Loss.FORGOTTEN, "It was forgotten on 2026-03-02 00:00 UTC by", "`helix memory restore a1`"),
        (Loss.ERASED, "It was erased on 2026-03-02 00:00 UTC by", "cannot be taken back"),
    ],
)
def test_restoring_is_advised_for_what_was_forgotten_not_for_an_erasure(
    loss: Loss, verdict: str, advice: str
) -> None:
    """Both name the event."""
    state = {"deleted_at": MOMENT, "deleted_by": 7}
    reply = hidden_response(Hidden(loss, state, None), "a1", SNAPSHOT, UTC)
    assert reply.verdict.startswith(f"{verdict} the event with sequence 7")
    assert advice in reply.advice


@pytest.mark.parametrize(
    ("replacement", "shown"),
    [
        (None, "another memory replaced it"),
        ({"memory_id": "b2", "text": "Tea.", "flags": []}, 'b2 ("Tea.") replaced it'),
        ({"memory_id": "b2", "text": "Tea.", "flags": ["spam"]}, "b2 (flagged) replaced it"),
    ],
)
def test_a_replacement_is_named_where_the_caller_may_see_it(
    replacement: dict[str, Any] | None, shown: str
) -> None:
    """The text of a flagged one is not quoted."""
    state = {"closed_at": MOMENT, "superseded_by": "b2"}
    reply = hidden_response(Hidden(Loss.REPLACED, state, replacement), "a1", SNAPSHOT, UTC)
    assert shown in reply.verdict
    assert replacement is not None or "b2" not in reply.verdict
