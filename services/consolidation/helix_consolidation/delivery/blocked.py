"""Incompatible messages block the derived stream: no later message is applied.

Such a message is sound, but was made by a worker of another release, or with another model than the
generation's. It and everything after it are held, unacknowledged and kept alive on the server. At growing
intervals the worker is asked to derive the message again; once the result fits, it replaces the body, and the
writer goes on. A writer of another release, or with another data folder, receives the messages again when it
starts.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from helix_consolidation.metrics import BLOCKED
from helix_memory.subjects import edge_of
from helix_shared.broker.worker.rederive import header_sequence, request_derivation
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_consolidation.stores.outcome import Outcome

REQUESTS_IN_FLIGHT: Final = 16
FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 60.0

_log = logger(__name__)


class BlockedMessages:
    """The held messages, the reason, and the requests to derive them again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        BLOCKED.set(0)
        self._held: list[Msg] = []
        self._incompatible: list[Msg] = []
        self._asking: asyncio.Task[bool] | None = None
        self._delay = FIRST_DELAY_SECONDS
        self._asked_at = 0.0
        self.reason = ""
        """Why the first message does not fit; empty while all do."""

    @property
    def is_on(self) -> bool:
        """Whether derived messages are held here, so that no others may be taken."""
        return bool(self._held)

    def update(self, outcome: Outcome) -> bool:
        """Hold what a batch left unapplied; return whether the reason changed."""
        self._incompatible = [message for message, _ in outcome.incompatible]
        self._held = [*self._incompatible, *outcome.blocked]
        reason = str(outcome.incompatible[0][1]) if outcome.incompatible else ""
        changed, self.reason = reason != self.reason, reason
        if not self._incompatible:
            self._delay = FIRST_DELAY_SECONDS
        if changed:
            BLOCKED.set(int(bool(reason)))
            if reason:
                _log.error("blocked", reason=reason, held=len(self._held))
            else:
                _log.info("no longer blocked")
        return changed

    def take(self, *, model: str) -> list[Msg]:
        """All held messages once one of them was derived again, else none.

        Starts the next request in the background; `model` is the generation's.
        """
        if not self._incompatible:
            return self._held
        if self._asking is None:
            if time.monotonic() - self._asked_at >= self._delay:
                self._asking = asyncio.create_task(self._ask(self._incompatible[:REQUESTS_IN_FLIGHT], model))
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
        """Cancel the running requests."""
        if self._asking is not None:
            self._asking.cancel()
        BLOCKED.set(0)

    async def _ask(self, messages: Sequence[Msg], model: str) -> bool:
        """Replace the bodies of messages that are derived again; return whether any was replaced."""
        return any(await asyncio.gather(*(self._ask_for(message, model) for message in messages)))

    async def _ask_for(self, message: Msg, model: str) -> bool:
        edge, sequence = edge_of(message.subject), header_sequence(message)
        try:
            derived = await request_derivation(self._client, edge, sequence=sequence, model=model)
        except TemporaryError as error:
            _log.warning("message not derived again", reason=str(error))
            return False
        message.data = derived.body
        message.headers = {**(message.headers or {}), **derived.headers(sequence)}
        return True
