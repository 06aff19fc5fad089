"""The profile of a past moment, and the facts of the caller that a recall of it finds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_shared.identity import memory_id
from tests.integration.test_query.stated import with_facets

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
SCOPE = recall_pb2.Scope(tenant_id="acme", user_id="ana")
OLD, NEW = "I work at Barco as an engineer", "I work for Globex"


def _said(text: str, days_ago: int, **fields: Any) -> dict[str, Any]:
    """A row of what Ana stated, stored on the same day."""
    at = NOW - timedelta(days=days_ago)
    return with_facets(text, user_id="ana", owner="ana", created_at=at, occurred_at=at, **fields)


def _lines(service: Any, **moments: Any) -> list[str]:
    """The lines of the profile without their dates."""
    reply = service.stub.GetProfile(recall_pb2.GetProfileRequest(scope=SCOPE, **moments), timeout=10)
    return [line.text.rpartition(" (")[0] for line in reply.profile.lines]


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("moment", ["as_of", "valid_at"])
def test_a_link_from_a_later_memory_replaces_nothing_before(
    corpus: Any, in_process: Any, moment: str, *, is_closed: bool
) -> None:
    """Whether the link has closed the earlier memory or is less sure."""
    closed = {"hidden": True, "is_latest": False, "superseded_by": memory_id("acme", f"acme/{NEW}", 0)}
    corpus.add([_said(OLD, 9, **(closed if is_closed else {})), _said(NEW, 2)])
    corpus.live.graph.relate(1, 0, "UPDATES", 0.8)
    corpus.publish()
    service = in_process(corpus.root)
    assert _lines(service) == [NEW]
    between: dict[str, Any] = {moment: NOW - timedelta(days=5)}
    assert _lines(service, **between) == [OLD]
    asked = service.recall("who do I work for?", scope=SCOPE, explain=True, **between)
    [candidate] = asked.explanation.candidates
    assert "profile_fact" in [step.name for step in candidate.steps]
