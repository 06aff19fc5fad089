from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of, scope_of
from helix_shared.artifacts.filter.filters import EventTime, Projects, Types
from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    OverloadedError,
    TemporaryError,
)
from helix_shared.rpc.statuses import status_of

CLOCK = datetime(2026, 3, 4, tzinfo=UTC)
SCOPE: dict[str, Any] = {"tenant_id": "acme", "user_id": "ann"}


def question(**fields: Any) -> Any:
    """The query of a request with these fields."""
    request = recall_pb2.RecallRequest(**{"scope": SCOPE, "query": "who"} | fields)
    return query_of(request, profiles=("helix", "helix-reference"), clock=CLOCK)


def refused(**fields: Any) -> str:
    """The field that a request is refused for."""
    with pytest.raises(InvalidInputError) as caught:
        question(**fields)
    return caught.value.field


def test_absent_fields_mean_defaults() -> None:
    """Profile helix, mode hybrid, the server's clock, no limits."""
    asked = question()
    assert (asked.profile, asked.mode, asked.now) == ("helix", "hybrid", CLOCK)
    assert (asked.top_k, asked.token_budget, asked.never_skip) == (None, None, False)
    assert (asked.selection.tenant_id, asked.selection.user_id) == ("acme", "ann")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t\u2003"}, "query"),
        ({"query": "x" * 4097}, "query"),
        (
            {"filter": {"event_after": CLOCK, "event_before": datetime(2026, 3, 1, tzinfo=UTC)}},
            "filter.event_after",
        ),
        ({"filter": {"event_after": CLOCK, "event_before": CLOCK}}, "filter.event_after"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 201}, "top_k"),
        ({"top_k": 10**9}, "top_k"),
        ({"token_budget": 0}, "token_budget"),
        ({"token_budget": 100_001}, "token_budget"),
        ({"ranking_profile": "nope"}, "ranking_profile"),
        ({"mode": 17}, "mode"),
        ({"scope": {}}, "scope.tenant_id"),
        ({"scope": {"tenant_id": "a.b"}}, "scope.tenant_id"),
        ({"scope": {"tenant_id": "acme\n"}}, "scope.tenant_id"),
        ({"scope": {"tenant_id": "x" * 65}}, "scope.tenant_id"),
        ({"scope": SCOPE | {"user_id": "x" * 257}}, "scope.user_id"),
        ({"scope": SCOPE | {"user_id": "a\x00b"}}, "scope.user_id"),
        ({"scope": SCOPE | {"principals": ["p"] * 65}}, "scope.principals"),
        ({"filter": {"types": ["poem"]}}, "filter.types"),
        ({"filter": {"types": ["code"] * 65}}, "filter.types"),
        ({"filter": {"project_ids": ["p"] * 65}}, "filter.project_ids"),
        ({"filter": {"session_ids": ["s" * 257]}}, "filter.session_ids"),
        ({"project_id": "p" * 257}, "project_id"),
        ({"now": {"seconds": 10**12}}, "now"),
        ({"filter": {"event_after": {"seconds": 0, "nanos": -1}}}, "filter.event_after"),
        ({"as_of": {"seconds": 10**12}}, "as_of"),
        ({"already_served": ["0" * 32] * 1001}, "already_served"),
        ({"already_served": ["0" * 31]}, "already_served"),
        ({"expand_context": 4}, "expand_context"),
    ],
)
def test_what_breaks_a_limit_is_refused_by_name(fields: dict[str, Any], field: str) -> None:
    """The error names the field."""
    assert refused(**fields) == field


def test_limits_are_inclusive() -> None:
    """The limit itself is allowed."""
    asked = question(query="x" * 4096, top_k=200, token_budget=100_000)
    assert (asked.top_k, asked.token_budget) == (200, 100_000)


def test_the_ends_of_a_recall_have_neutral_defaults() -> None:
    """No wait, no `as_of`, no served memories, and the `expand_context` of the profile."""
    asked = question()
    assert (asked.min_sequence, asked.selection.as_of, asked.already_served) == (0, None, ())
    assert asked.expand_context is None
    assert question(expand_context=1).expand_context == "none"
    assert question(min_seq=2**64 - 1).min_sequence == 2**64 - 1


def test_now_follows_the_past_moment_unless_it_is_given() -> None:
    """With `as_of` in 2025, "last week" is a week of 2025."""
    moment = datetime(2025, 6, 1, tzinfo=UTC)
    assert question(as_of=moment).now == moment
    assert question(as_of=moment).selection.as_of == moment
    assert question(as_of=CLOCK, valid_at=moment).now == moment
    assert question(valid_at=moment).selection.valid_at == moment
    assert question(as_of=moment, now=CLOCK).now == CLOCK


def test_served_ids_count_once() -> None:
    """At most 1,000; duplicates count once."""
    assert question(already_served=["a" * 32] * 1000).already_served == ("a" * 32,)


def test_unknown_names_come_with_the_known_ones() -> None:
    """The message lists the valid values."""
    with pytest.raises(InvalidInputError, match="helix, helix-reference"):
        question(ranking_profile="cems")
    with pytest.raises(InvalidInputError, match="episodic"):
        question(filter={"types": ["poem"]})


def test_filters_become_a_selection() -> None:
    """Repeated values count once; times are UTC."""
    asked = question(
        filter={"types": ["code", "code"], "project_ids": ["p"], "event_before": {"seconds": 1_700_000_000}}
    )
    moment = datetime.fromtimestamp(1_700_000_000, UTC)
    assert asked.selection.filters == (Types(("code",)), Projects(("p",)), EventTime(before=moment))


def test_a_memory_id_is_32_hexadecimal_digits() -> None:
    """Other strings are not memory ids."""
    assert checks.memory_id("0" * 32) == "0" * 32
    for wrong in ("", "0" * 31, "G" * 32, "A" * 32, "0" * 32 + "\n", "' OR 1=1 --"):
        with pytest.raises(InvalidInputError):
            checks.memory_id(wrong)


def test_a_scope_needs_a_tenant() -> None:
    """A request without a tenant is refused."""
    with pytest.raises(InvalidInputError):
        scope_of(recall_pb2.Scope())


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidInputError("top_k", "must be 1 to 200"), "INVALID_ARGUMENT", "top_k: must be 1 to 200"),
        (NotFoundError("no memory"), "NOT_FOUND", "no memory"),
        (OverloadedError("full"), "RESOURCE_EXHAUSTED", "full"),
        (TemporaryError("no generation yet"), "UNAVAILABLE", "no generation yet"),
        (TimeoutError(), "DEADLINE_EXCEEDED", "deadline passed before the answer was ready"),
        (
            CorruptArtifactError("/secret/path"),
            "DATA_LOSS",
            "an artifact is damaged; the operator's log names it",
        ),
        (ValueError("the user said: ..."), "INTERNAL", "internal error"),
        (BaseException("panicked at ..."), "INTERNAL", "internal error"),
    ],
)
def test_every_error_has_one_status(error: BaseException, code: str, message: str) -> None:
    """Errors of other classes never show their message."""
    assert status_of(error) == (grpc.StatusCode[code], message)
