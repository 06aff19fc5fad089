"""The language model, asked within the limits of the settings; every reply is recorded.

Used for windows (`consumer`) and for pairs (`pairs.judge`) alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from helix_extract.accounting.metrics import ABOUT_WINDOWS, PAIRS, WINDOWS
from helix_extract.answers.records import RecordedAnswer, find_answer, record_answer
from helix_shared.endpoint.client import (
    Endpoint,
    Question,
    RefusedError,
    UnavailableError,
    estimate_tokens,
)
from helix_shared.endpoint.metrics import DROPPED
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_extract.accounting.ledger import Ledger
    from helix_extract.settings import ExtractSettings
    from helix_shared.broker.worker.worker import Connected

NOT_ASKED: Final = "not asked: it is older than HELIX_EXTRACT_OLDEST_DAYS, or the budget of today is spent"
"""Why a redrive gives nothing where `recorded_or_asked` gives None."""

_log = logger(__name__)


async def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What an answer is wanted about: a window, or the `count` pairs of one event."""

    call: str
    """`ABOUT_WINDOWS` or `ABOUT_PAIRS`."""
    tenant_id: str
    key: str
    """Key of the recorded answer."""
    stored_at: datetime
    """When the server stored the event."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """Where a reply is recorded: under the key of a window, or of the pairs of one event in the question."""

    key: str
    events: tuple[int, ...]
    """Sequences of the events whose texts are in the question."""
    first: int = 0
    """Number of the first pair of the event in the question; 0 for a window."""
    pairs: int = 1
    """Pairs of the event in the question; 1 for a window."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Asks all questions of a process within its limits; used from one event loop."""

    settings: ExtractSettings
    endpoint: Endpoint
    ledger: Ledger
    pause: Callable[[float], Awaitable[None]]
    """Waits so many seconds; raises TemporaryError when the worker ends."""

    async def recorded_or_asked(
        self,
        request: AnswerRequest,
        ask: Callable[[], Awaitable[RecordedAnswer | None]],
        connected: Connected,
    ) -> RecordedAnswer | None:
        """The recorded answer, else what `ask` returns; None where the model may not be asked.

        Raises:
            TemporaryError: NATS does not answer, or the worker ends.
            HelixError: what `ask` raised.
        """
        recorded = await find_answer(connected.client, request.tenant_id, request.key)
        if recorded is not None:
            await self.note(request.call, "repeated", request.count)
            return recorded
        days = self.settings.oldest_days
        if days and datetime.now(UTC) - request.stored_at > timedelta(days=days):
            await self.note(request.call, "too old", request.count)
            return None
        return await ask()

    async def ask(
        self,
        question: Question,
        tenant: str,
        prompt: str,
        targets: Sequence[RecordTarget],
        connected: Connected,
        *,
        may_ask: Callable[[], Awaitable[bool]] = _always,
    ) -> list[RecordedAnswer] | None:
        """Ask until there is an answer, and record it for each of `targets`.

        `prompt` is the version of the prompt. `may_ask` is called before each attempt. None: it said no, or
        the budget is spent.

        Raises:
            RefusedError: the server refuses the question.
            TemporaryError: NATS does not answer, or the worker ends.
        """
        expected = estimate_tokens(question.system + question.text) + question.most_tokens
        count = sum(target.pairs for target in targets)
        if not await self.ledger.reserve(tenant, expected, pause=self.pause):
            await self.note(question.call, "over budget", count)
            return None
        try:
            while await may_ask():
                try:
                    return await self._ask(question, tenant, prompt, targets, connected)
                except UnavailableError as error:
                    seconds = round(error.delay_seconds, 1)
                    _log.info("question not answered", reason=str(error), wait_seconds=seconds)
                    await self.note(question.call, "failed", count, problem=str(error))
                    await self.pause(error.delay_seconds)
                except RefusedError as error:
                    await self.note(question.call, "refused", count, problem=str(error))
                    raise
                earlier = [await find_answer(connected.client, tenant, target.key) for target in targets]
                known = [answer for answer in earlier if answer is not None]
                if len(known) == len(targets):
                    return known
            return None
        finally:
            self.ledger.release(tenant, expected)

    async def _ask(
        self,
        question: Question,
        tenant: str,
        prompt: str,
        targets: Sequence[RecordTarget],
        connected: Connected,
    ) -> list[RecordedAnswer]:
        reply = await self.endpoint.ask(question)
        count = sum(target.pairs for target in targets)
        answer = RecordedAnswer(
            model=self.endpoint.model,
            prompt=prompt,
            text=reply.text,
            is_cut=reply.is_cut,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )
        recorded = []
        for target in targets:
            place = {"first": target.first, "asked": count if target.first else 0}
            own = answer.model_copy(update=place)
            found = await record_answer(
                connected.client, connected.publisher, tenant, target.key, own, events=target.events
            )
            recorded.append(found)
        tokens = reply.prompt_tokens + reply.completion_tokens
        await self.note(question.call, "answered", count, tenant_id=tenant, tokens=tokens, problem="")
        return recorded

    async def note(
        self, call: str, outcome: str, count: int = 1, *, tenant_id: str = "", tokens: int = 0, **state: str
    ) -> None:
        """Count what became of `count` windows or pairs, or of an attempt to ask about them."""
        (WINDOWS if call == ABOUT_WINDOWS else PAIRS).labels(outcome).inc(count)
        await self.ledger.add(
            outcome,
            call=call,
            tenant_id=tenant_id,
            tokens=tokens,
            state={
                "breaker": self.endpoint.breaker.state,
                "form": self.endpoint.form.name if self.endpoint.form.is_known else "",
                "model": self.endpoint.model,
                **state,
            },
        )

    async def note_checked(
        self, call: str, outcome: str, counts: Mapping[str, int], dropped: Mapping[str, Any]
    ) -> None:
        """Count what an answer gave, and what of it failed a check by reason."""
        for reason, count in dropped.items():
            DROPPED.labels(call, reason).inc(count)
        await self.ledger.add(outcome, call=call, counts=counts, dropped=dropped)
