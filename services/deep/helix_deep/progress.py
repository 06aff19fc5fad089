"""The stages of one call as they begin and end: told to the caller, counted, and kept for the result."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from helix_deep.metrics import LEFT_OUT, STAGE_SECONDS
from helix_deep.questions.model import LeftOutError
from helix_memory.deep.v1 import deep_pb2
from helix_shared.errors import HelixError
from helix_shared.telemetry.logs import logger

MILLISECONDS: Final = 1_000.0

_log = logger(__name__)

Emit = Callable[[deep_pb2.StageProgress], None]


class Progress:
    """Used from one event loop; `emit` must not wait."""

    def __init__(self, emit: Emit) -> None:
        self.ended: list[deep_pb2.StageProgress] = []
        """Every stage that ended, in that order."""
        self._emit = emit

    @property
    def left_out(self) -> list[str]:
        """Names of the stages that were left out."""
        return [one.stage for one in self.ended if one.state == deep_pb2.STAGE_STATE_LEFT_OUT]

    @asynccontextmanager
    async def stage(self, name: str, *, required: bool = False) -> AsyncIterator[deep_pb2.StageProgress]:
        """Tell beginning and end of a stage; the block fills in what it asked and obtained.

        An error ends the block and leaves the stage out; `required` raises it after that. One that nobody
        expects is logged: the plain recall is there, and is answered with.
        """
        began = time.monotonic()
        self._emit(deep_pb2.StageProgress(stage=name, state=deep_pb2.STAGE_STATE_STARTED))
        record = deep_pb2.StageProgress(stage=name, state=deep_pb2.STAGE_STATE_DONE)
        try:
            yield record
        except (LeftOutError, HelixError) as error:
            record.state, record.reason = deep_pb2.STAGE_STATE_LEFT_OUT, str(error)
            if required:
                raise
        except Exception as error:
            record.state, record.reason = deep_pb2.STAGE_STATE_LEFT_OUT, f"internal: {type(error).__name__}"
            if required:
                raise
            _log.exception("stage failed", stage=name)
        finally:
            seconds = time.monotonic() - began
            STAGE_SECONDS.labels(name).observe(seconds)
            record.milliseconds = seconds * MILLISECONDS
            self._end(record)

    def leave_out(self, name: str, reason: str) -> None:
        """Note a stage that did not begin because it cannot run."""
        self._end(deep_pb2.StageProgress(stage=name, state=deep_pb2.STAGE_STATE_LEFT_OUT, reason=reason))

    def skip(self, name: str, reason: str) -> None:
        """Note a stage that is not needed."""
        self._end(deep_pb2.StageProgress(stage=name, state=deep_pb2.STAGE_STATE_SKIPPED, reason=reason))

    def _end(self, record: deep_pb2.StageProgress) -> None:
        if record.state == deep_pb2.STAGE_STATE_LEFT_OUT:
            LEFT_OUT.labels(record.stage).inc()
        self.ended.append(record)
        self._emit(record)
