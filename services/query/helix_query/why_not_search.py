"""One WhyNot call in turns: the question is asked once in each, and other calls come in between."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from helix.recall.v1 import recall_pb2
from helix_query.attempts import Attempts
from helix_query.profile import RankingProfile
from helix_query.turns import MORE
from helix_query.why_not import Steps, why_not
from helix_query.why_not_reply import why_not_response

if TYPE_CHECKING:
    from helix_query.served import Served


@dataclass(slots=True)
class WhyNotSearch:
    """Work of `turns`.

    Changes are tried until `searching`, and `until` is the deadline, both moments of the monotonic clock.
    """

    request: recall_pb2.WhyNotRequest
    profiles: Mapping[str, RankingProfile]
    channel_deadline_seconds: float
    clock: datetime
    searching: float
    until: float
    _steps: Steps[recall_pb2.WhyNotResponse] | None = field(default=None, init=False)
    _attempts: Attempts | None = field(default=None, init=False)

    def turn(self, served: Served, channels: Mapping[str, Executor]) -> Any:
        """The reply, or `MORE`; all turns are on one generation."""
        if self._steps is None:
            self._attempts = Attempts(
                served,
                self.profiles,
                channels,
                self.channel_deadline_seconds,
                clock=self.clock,
                until=self.searching,
                deadline=self.until,
            )
            self._steps = _steps(self.request, self._attempts, served)
        try:
            next(self._steps)
        except StopIteration as end:
            return end.value
        return MORE

    def stop(self) -> None:
        """Try nothing further."""
        self.searching = -math.inf
        if self._attempts is not None:
            self._attempts.until = self.searching


def _steps(
    request: recall_pb2.WhyNotRequest, attempts: Attempts, served: Served
) -> Steps[recall_pb2.WhyNotResponse]:
    found = yield from why_not(request.recall, request.memory_id, attempts)
    return why_not_response(found, served)
