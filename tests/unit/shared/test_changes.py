"""A question changed as WhyNot advises."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from helix_memory.arithmetic import blend, lifted, normalised, product, reciprocal, stepped, weighted
from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2


def change(value: Any, *, field: str = "", key: str = "") -> recall_pb2.Change:
    """One change."""
    return recall_pb2.Change(request_field=field, profile_key=key, value=json.dumps(value))


def test_fields_are_put_cleared_and_left() -> None:
    """Nested ones too; the original request is unchanged."""
    request = recall_pb2.RecallRequest(query="which?", top_k=3, already_served=["a", "b"])
    request.scope.tenant_id = "acme"
    request.filter.types.append("code")
    made, constants = changed(
        request,
        [
            change(12, field="top_k"),
            change(None, field="filter.types"),
            change(["a"], field="already_served"),
            change("2026-11-01T00:00:00Z", field="filter.event_after"),
            change("MODE_HYBRID", field="mode"),
            change(value=True, field="never_skip"),
        ],
    )
    assert (made.query, made.scope.tenant_id, made.top_k, made.never_skip) == ("which?", "acme", 12, True)
    assert (list(made.filter.types), list(made.already_served)) == ([], ["a"])
    assert made.filter.event_after.ToDatetime(UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert made.mode == recall_pb2.MODE_HYBRID
    assert constants == {}
    assert (request.top_k, list(request.filter.types)) == (3, ["code"])


def test_constants_come_back_by_key() -> None:
    """They do not travel with a request."""
    request = recall_pb2.RecallRequest(query="which?")
    made, constants = changed(
        request, [change(140, key="retrieve.limits.dense"), change({}, key="fuse.by_intent")]
    )
    assert made == request
    assert constants == {"retrieve.limits.dense": 140, "fuse.by_intent": {}}


def test_the_arithmetic_by_hand() -> None:
    """The formulas of the contract."""
    assert normalised(3.0, 1.0, 4.0) == 0.5
    assert blend(1.0, 3.0, 0.25) == 2.5
    assert weighted([(0.5, 2.0), (0.25, 4.0)]) == 2.0
    assert weighted([]) == 0.0
    assert lifted(2.0, 0.5, 0.1) == pytest.approx(2.1)
    assert product([2.0, 3.0]) == 6.0
    assert (stepped(2.0, "multiply", 3.0), stepped(2.0, "add", 3.0)) == (6.0, 5.0)
    assert reciprocal(2.0, 60, 1, 0.05) == pytest.approx(2 / 61 + 0.05)
