"""Reads requests of `helix.deep.v1`; what the query service checks is left to it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from helix_deep.questions.kinds import MODEL_STAGES
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_deep.settings import DeepSettings
    from helix_memory.deep.v1 import deep_pb2
    from helix_memory.recall.v1 import recall_pb2

MOMENTS: Final = ("now", "valid_at", "as_of")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, tokens and stages of one call."""

    seconds: float
    tokens: int
    stages: tuple[str, ...]


def limits_of(
    request: deep_pb2.DeepRecallRequest, settings: DeepSettings, *, seconds_left: float | None
) -> Limits:
    """The smaller of what the caller and the settings allow; `seconds_left` is the caller's gRPC deadline.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    seconds = settings.request_seconds
    if request.HasField("seconds"):
        if not (math.isfinite(request.seconds) and request.seconds > 0):
            raise InvalidInputError("seconds", "must be above 0")
        seconds = min(seconds, request.seconds)
    if seconds_left is not None:
        seconds = min(seconds, max(seconds_left, 0.0))
    tokens = settings.request_tokens
    if request.HasField("tokens"):
        tokens = min(tokens, request.tokens)
    if unknown := [stage for stage in request.stages if stage not in MODEL_STAGES]:
        raise InvalidInputError("stages", f"{unknown[0]!r} is unknown; known: {', '.join(MODEL_STAGES)}")
    wanted = request.stages or MODEL_STAGES
    stages = tuple(one for one in MODEL_STAGES if one in wanted and one in settings.stages)
    return Limits(seconds, tokens, stages)


def day_of(recall: recall_pb2.RecallRequest) -> str:
    """The date of the moment that the query is asked for, YYYY-MM-DD in the time zone of the request.

    What cannot be read is refused by the query service, by its name.
    """
    moment = datetime.now(UTC)
    with contextlib.suppress(ValueError, OverflowError, OSError):
        for name in MOMENTS:
            if recall.HasField(name):
                moment = getattr(recall, name).ToDatetime(tzinfo=UTC)
                break
        if recall.time_zone:
            # a name that leaves the folder of time zones is a ValueError, as an unknown one is a KeyError
            with contextlib.suppress(ZoneInfoNotFoundError):
                moment = moment.astimezone(ZoneInfo(recall.time_zone))
    return moment.date().isoformat()
