"""The consumer: each turn is delivered once; the last turn of a window asks about all of them.

What happens to a window: its answer is found in HELIX_ANSWERS, or the model is asked and the answer recorded;
what passes the checks is published as one statements message. Nothing waits for it: a turn is recallable
by the rules of ingest long before. While the model does not answer, its windows wait here without an end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from helix_extract.answers.check import CheckedAnswer, check
from helix_extract.answers.json_text import object_in
from helix_extract.answers.prompt import PROMPT_VERSION, SYSTEM, answer_key, question
from helix_extract.answers.records import RecordedAnswer, find_answer, record_answer
from helix_extract.endpoint.client import Endpoint, RefusedError, UnavailableError, estimate_tokens
from helix_extract.endpoint.metrics import DROPPED, WINDOWS
from helix_extract.windows.window import Turn, Window
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_shared.broker import deadline, log
from helix_shared.broker.worker.rederive import requested_sequence
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.published import published_event
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_extract.endpoint.ledger import Ledger
    from helix_extract.settings import ExtractSettings
    from helix_extract.statements import StatementsBuilder
    from helix_extract.windows.session_log import SessionLog
    from helix_shared.broker.worker.derived import DerivedMessage
    from helix_shared.broker.worker.worker import Connected

SERVICE: Final = "extract"

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Extract:
    """The worker's collaborators."""

    settings: ExtractSettings
    sessions: SessionLog
    endpoint: Endpoint
    ledger: Ledger
    builder: StatementsBuilder

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Ask about the window that ends with this turn, once it is complete; other turns need nothing.

        Raises:
            PermanentError: the server refuses the question.
            TemporaryError: NATS does not answer, or the worker ends.
        """
        turn = _turn(message)
        if turn is None or not self.settings.allows(turn.event.tenant_id):
            return
        with deadline.suspended():
            window = await self.sessions.completed_window(connected.client, turn)
            if window is None:
                return
            answer, key = await self._answer(window, connected)
        if answer is None:
            return
        built = await self._build(window, answer, key, connected)
        await built.publish(connected.publisher)

    async def rederive(self, request: Msg, connected: Connected) -> bytes:
        """The statements of the window that ends with a turn, from its recorded answer.

        Raises:
            TemporaryError: NATS does not answer, or the log has no such turn.
        """
        sequence = requested_sequence(request)
        found = await log.message_at(connected.client, subjects.EVENTS_STREAM, sequence)
        event = None if found is None else published_event(found.subject, found.body)
        if found is None or not isinstance(event, MessageEvent):
            raise TemporaryError(f"event {sequence} is no turn of the log")
        turn = Turn(event, sequence, found.stored_at)
        window = await self.sessions.window_of(connected.client, turn)
        key = answer_key(window, self.endpoint.model)
        answer = await find_answer(connected.client, event.tenant_id, key)
        checked = CheckedAnswer() if answer is None else self._checked(answer, window)
        return (await connected.lanes.run(self.builder.build, window, checked, key)).body

    async def _answer(self, window: Window, connected: Connected) -> tuple[RecordedAnswer | None, str]:
        """The recorded answer, and its key; None where the model may not be asked."""
        tenant = window.last.event.tenant_id
        key = answer_key(window, self.endpoint.model)
        recorded = await find_answer(connected.client, tenant, key)
        if recorded is not None:
            await self._note("repeated")
            return recorded, key
        if self._is_old(window):
            await self._note("too old")
            return None, key
        asked = question(window)
        expected = estimate_tokens(SYSTEM + asked) + self.settings.max_output_tokens
        if not await self.ledger.reserve(tenant, expected):
            await self._note("over budget")
            return None, key
        try:
            return await self._ask(tenant, key, asked, connected), key
        finally:
            self.ledger.release(tenant, expected)

    async def _ask(self, tenant: str, key: str, asked: str, connected: Connected) -> RecordedAnswer:
        """Ask until there is an answer, and record it.

        Raises:
            RefusedError: the server refuses the question.
            TemporaryError: NATS does not answer, or the worker ends.
        """
        while True:
            try:
                reply = await self.endpoint.ask(SYSTEM, asked)
                break
            except UnavailableError as error:
                _log.info("not answered", reason=str(error), wait_seconds=round(error.delay_seconds, 1))
                await self._note("failed", problem=str(error))
                await self.sessions.pause(error.delay_seconds)
            except RefusedError as error:
                await self._note("refused", problem=str(error))
                raise
            earlier = await find_answer(connected.client, tenant, key)
            if earlier is not None:
                return earlier
        answer = RecordedAnswer(
            model=self.endpoint.model,
            prompt=PROMPT_VERSION,
            text=reply.text,
            is_cut=reply.is_cut,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )
        recorded = await record_answer(connected.client, connected.publisher, tenant, key, answer)
        tokens = reply.prompt_tokens + reply.completion_tokens
        await self._note("answered", tenant_id=tenant, tokens=tokens, problem="")
        return recorded

    async def _build(
        self, window: Window, answer: RecordedAnswer, key: str, connected: Connected
    ) -> DerivedMessage:
        checked = await connected.lanes.run(self._checked, answer, window)
        for reason, count in checked.dropped.items():
            DROPPED.labels(reason).inc(count)
        await self.ledger.add(
            "windows", counts={"statements": len(checked.memories)}, dropped=checked.dropped
        )
        return await connected.lanes.run(self.builder.build, window, checked, key)

    def _checked(self, answer: RecordedAnswer, window: Window) -> CheckedAnswer:
        found, is_cut = object_in(answer.text)
        if found is None:
            return CheckedAnswer(dropped=Counter({"no answer": 1}))
        checked = check(found, window)
        if is_cut or answer.is_cut:
            checked.dropped["cut off"] += 1
        return checked

    def _is_old(self, window: Window) -> bool:
        days = self.settings.oldest_days
        return bool(days) and datetime.now(UTC) - window.last.stored_at > timedelta(days=days)

    async def _note(self, outcome: str, *, tenant_id: str = "", tokens: int = 0, **state: str) -> None:
        """Count what became of a window, or of an attempt to ask about it."""
        WINDOWS.labels(outcome).inc()
        await self.ledger.add(
            outcome,
            tenant_id=tenant_id,
            tokens=tokens,
            state={
                "breaker": self.endpoint.breaker.state,
                "form": self.endpoint.form.name if self.endpoint.form.is_known else "",
                "model": self.endpoint.model,
                **state,
            },
        )


def _turn(message: Msg) -> Turn | None:
    """The turn of a delivered message; None where ingest refuses the event."""
    try:
        event = published_event(message.subject, message.data)
    except PermanentError:
        return None
    position = message.metadata
    if not isinstance(event, MessageEvent):
        return None
    return Turn(event, position.sequence.stream, position.timestamp)
