"""The writer stands still: a derived message does not fit it, and nothing that follows is applied.

The message is sound, but made by a worker of another release or with another model than the
generation's. It and everything after it are held, unanswered and kept alive on the server. Every
so often the worker is asked to derive the message again. As soon as what it derives fits, this
takes the place of the message, and the writer goes on. A writer of another release, or with
another data folder, is given the messages again when it starts.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.decode import edge_of
from helix_shared.broker.worker.rederive import header_sequence, request_derivation
from helix_shared.errors import TemporaryError
from helix_shared.telemetry import STANDSTILL, logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_consolidation.stores.shard import Outcome

MEMORIES: Final = "memories"
ASKED_TOGETHER: Final = 16
FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 60.0

_log = logger(__name__)


class BlockedMessages:
    """The messages that wait, why they do, and the requests for others in their place."""

    def __init__(self, client: Client, *, service: str) -> None:
        self._client = client
        self._gauge = STANDSTILL.labels(service)
        self._gauge.set(0)
        self._held: list[Msg] = []
        self._unfit: list[Msg] = []
        self._asking: asyncio.Task[bool] | None = None
        self._delay = FIRST_DELAY_SECONDS
        self._asked_at = 0.0
        self.reason = ""
        """Why the first message does not fit; empty while all do."""

    @property
    def is_on(self) -> bool:
        """Whether derived messages wait here, so that no others may be taken."""
        return bool(self._held)

    def note(self, outcome: Outcome) -> bool:
        """Hold what a batch could not be applied of; tells whether the reason changed."""
        self._unfit = [message for message, _ in outcome.unfit]
        self._held = [*self._unfit, *outcome.waiting]
        reason = str(outcome.unfit[0][1]) if outcome.unfit else ""
        changed, self.reason = reason != self.reason, reason
        if not self._unfit:
            self._delay = FIRST_DELAY_SECONDS
        if changed:
            self._gauge.set(int(bool(reason)))
            if reason:
                _log.error("standing still", reason=reason, held=len(self._held))
            else:
                _log.info("everything fits again")
        return changed

    def take(self, *, model: str) -> list[Msg]:
        """What is worth applying now: all that is held once something was derived again, else nothing.

        Asks for it beside; `model` is the generation's.
        """
        if not self._unfit:
            return self._held
        if self._asking is None:
            if time.monotonic() - self._asked_at >= self._delay:
                self._asking = asyncio.create_task(self._ask(self._unfit[:ASKED_TOGETHER], model))
            return []
        if not self._asking.done():
            return []
        task, self._asking = self._asking, None
        self._asked_at = time.monotonic()
        if not task.result():
            self._delay = min(LONGEST_DELAY_SECONDS, 2 * self._delay)
            return []
        self._delay = FIRST_DELAY_SECONDS
        return self._held

    def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()
        self._gauge.set(0)

    async def _ask(self, messages: Sequence[Msg], model: str) -> bool:
        """Put what is derived again in the place of what does not fit; tells whether anything was."""
        return any(await asyncio.gather(*(self._ask_for(message, model) for message in messages)))

    async def _ask_for(self, message: Msg, model: str) -> bool:
        edge, sequence = edge_of(message), header_sequence(message)
        try:
            body = await request_derivation(self._client, MEMORIES, sequence=sequence, model=model)
            if edge != MEMORIES:
                body = await request_derivation(self._client, edge, sequence=sequence, body=body)
        except TemporaryError as error:
            _log.warning("not derived again", reason=str(error))
            return False
        message.data = body
        return True
