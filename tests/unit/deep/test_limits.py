"""Time and tokens of a call, and tokens of a day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from helix_deep.api.requests import day_of, limits_of
from helix_deep.progress import Progress
from helix_deep.questions.kinds import MODEL_STAGES
from helix_deep.questions.limits import Budget, DailyTokens
from helix_deep.settings import DeepSettings
from helix_memory.deep.v1.deep_pb2 import DeepRecallRequest
from helix_memory.recall.v1.recall_pb2 import RecallRequest
from helix_shared.errors import InvalidInputError


def test_tokens_are_reserved_before_and_settled_after() -> None:
    """Two questions at once cannot spend the same tokens."""
    budget = Budget(seconds=10, tokens=100)
    assert budget.reserve(60)
    assert not budget.reserve(60)
    budget.settle(60, prompt=20, completion=5)
    assert (budget.tokens, budget.prompt_tokens, budget.completion_tokens) == (75, 20, 5)
    assert budget.reserve(75)


def test_time_is_left_for_packing() -> None:
    """A tenth, at most one second."""
    now = [100.0]
    short, long = (Budget(seconds=s, tokens=0, clock=lambda: now[0]) for s in (2.0, 60.0))
    assert (short.seconds, long.seconds) == (pytest.approx(1.8), pytest.approx(59.0))
    now[0] = 200.0
    assert (short.seconds, long.seconds) == (0.0, 0.0)


def test_tokens_of_a_day_are_those_of_one_tenant() -> None:
    """They come back at midnight UTC; 0 is no limit."""
    day = [datetime(2026, 3, 4, 23, tzinfo=UTC)]
    daily = DailyTokens(100, clock=lambda: day[0])
    daily.spend("acme", 70)
    daily.spend("acme", -10)
    assert (daily.left("acme"), daily.left("umbrella")) == (40, 100)
    daily.spend("acme", 70)
    assert daily.left("acme") == 0
    day[0] = datetime(2026, 3, 5, tzinfo=UTC)
    assert daily.left("acme") == 100
    assert DailyTokens(0).left("acme") is None


def test_the_smaller_of_both_limits_applies() -> None:
    """The caller's, the settings', and the deadline of the call."""
    settings = DeepSettings(request_seconds=20, request_tokens=5_000, stages=("hyde", "rerank"))
    free = limits_of(DeepRecallRequest(), settings, seconds_left=None)
    assert (free.seconds, free.tokens, free.stages) == (20, 5_000, ("hyde", "rerank"))
    request = DeepRecallRequest(seconds=30, tokens=70, stages=["rerank", "understand"])
    asked = limits_of(request, settings, seconds_left=4.0)
    assert (asked.seconds, asked.tokens, asked.stages) == (4.0, 70, ("rerank",))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (DeepRecallRequest(seconds=0), "seconds"),
        (DeepRecallRequest(seconds=float("nan")), "seconds"),
        (DeepRecallRequest(seconds=float("inf")), "seconds"),
        (DeepRecallRequest(stages=["think"]), "stages"),
    ],
)
def test_a_limit_that_is_none_is_refused_by_name(request_: DeepRecallRequest, field: str) -> None:
    """With the field."""
    with pytest.raises(InvalidInputError) as refused:
        limits_of(request_, DeepSettings(), seconds_left=None)
    assert refused.value.field == field


def test_settings_name_known_stages() -> None:
    """A misspelt stage would never run."""
    assert DeepSettings.load(stages="hyde, rerank").stages == ("hyde", "rerank")
    assert DeepSettings().stages == MODEL_STAGES
    with pytest.raises(InvalidInputError, match="unknown stage 'think'"):
        DeepSettings.load(stages="think")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("base_url", "http://127.0.0.1:99999/v1", "host or port"),
        ("base_url", "http://[::1/v1", "host or port"),
        ("api_key", "\u201ckey\u201d", "ASCII"),
        ("api_key", "one\ntwo", "ASCII"),
    ],
)
def test_an_address_or_key_that_cannot_be_sent_is_refused_at_the_start(
    field: str, value: str, reason: str
) -> None:
    """By the name of its setting; later it would fail each question."""
    with pytest.raises(InvalidInputError, match=rf"HELIX_DEEP_{field.upper()}.*{reason}"):
        DeepSettings.load(**{field: value}).key()


def test_a_key_may_end_in_a_line_break() -> None:
    """As secrets of Kubernetes often do."""
    assert DeepSettings.load(api_key="sesame\n").key() == "sesame"


def test_the_date_is_that_of_the_question() -> None:
    """`now` of the request, else `valid_at`, `as_of` and the clock."""
    request = RecallRequest()
    request.as_of.FromDatetime(datetime(2025, 1, 2, tzinfo=UTC))
    assert day_of(request) == "2025-01-02"
    request.now.FromDatetime(datetime(2026, 3, 4, tzinfo=UTC))
    assert day_of(request) == "2026-03-04"
    request.now.seconds = 10**15
    assert len(day_of(request)) == 10


def test_the_date_is_that_of_the_caller() -> None:
    """The evening of Berlin is the next day in Auckland; a zone that is none is left to the query service."""
    request = RecallRequest()
    request.now.FromDatetime(datetime(2026, 3, 4, 20, tzinfo=UTC))
    for zone, day in (
        ("Pacific/Auckland", "2026-03-05"),
        ("", "2026-03-04"),
        ("Nowhere/../etc", "2026-03-04"),
    ):
        request.time_zone = zone
        assert day_of(request) == day


async def test_an_unexpected_error_leaves_its_stage_out() -> None:
    """The plain recall is answered with; a stage that is required raises."""
    progress = Progress(lambda _: None)
    async with progress.stage("hyde"):
        raise RuntimeError
    assert progress.left_out == ["hyde"]
    with pytest.raises(RuntimeError):
        async with progress.stage("recall", required=True):
            raise RuntimeError
