"""The language model of a call: one question within the limits, asked once."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.endpoint.client import RefusedError, UnavailableError, estimate_tokens
from helix_shared.endpoint.metrics import DROPPED
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_deep.questions.limits import Budget, DailyTokens
    from helix_shared.endpoint.client import Endpoint, Question, Reply

NOT_CONFIGURED: Final = "no language model is configured (HELIX_DEEP_BASE_URL and HELIX_DEEP_MODEL)"
NOT_ALLOWED: Final = "the tenant is not in HELIX_DEEP_TENANTS, so nothing of it is sent to the language model"
NOT_SENT: Final = "the question holds a credential, so it is not sent to the language model"
NO_TIME: Final = "no time is left"
NO_TOKENS: Final = "the tokens of this call do not suffice"
NO_TOKENS_TODAY: Final = "the tokens of the tenant for today are spent (HELIX_DEEP_DAILY_TOKENS)"

_log = logger(__name__)


class LeftOutError(Exception):
    """A stage is left out; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Model:
    """The language model for one call of one tenant."""

    endpoint: Endpoint
    budget: Budget
    daily: DailyTokens
    tenant_id: str

    @property
    def room(self) -> int:
        """Tokens that the next question and its answer may have."""
        left = self.daily.left(self.tenant_id)
        return self.budget.tokens if left is None else min(left, self.budget.tokens)

    @property
    def no_room(self) -> str:
        """Why there are no more: the limit that leaves fewer."""
        left = self.daily.left(self.tenant_id)
        return NO_TOKENS if left is None or left >= self.budget.tokens else NO_TOKENS_TODAY

    async def ask(self, question: Question) -> Reply:
        """The reply to one question.

        Raises:
            LeftOutError: the limits have no room for it, or the model does not answer.
        """
        expected = estimate_tokens(question.system + question.text) + question.most_tokens
        left = self.daily.left(self.tenant_id)
        if left is not None and expected > left:
            raise LeftOutError(NO_TOKENS_TODAY)
        if not self.budget.seconds:
            raise LeftOutError(NO_TIME)
        if not self.budget.reserve(expected):
            raise LeftOutError(NO_TOKENS)
        self.daily.spend(self.tenant_id, expected)
        prompt = completion = 0
        try:
            reply = await self.endpoint.ask(question, seconds=self.budget.seconds)
            prompt, completion = reply.prompt_tokens, reply.completion_tokens
        except asyncio.CancelledError:
            # the caller went away; what was sent may have been read
            prompt = expected - question.most_tokens
            raise
        except TimeoutError as error:
            prompt = expected - question.most_tokens
            raise LeftOutError(f"{NO_TIME}: the language model has not answered") from error
        except (UnavailableError, RefusedError) as error:
            _log.info("question not answered", stage=question.call, reason=str(error))
            raise LeftOutError(str(error)) from error
        finally:
            self.budget.settle(expected, prompt=prompt, completion=completion)
            self.daily.spend(self.tenant_id, prompt + completion - expected)
        return reply


def count_dropped(stage: str, dropped: Counter[str]) -> None:
    """Count items of an answer that failed a check."""
    for reason, count in dropped.items():
        DROPPED.labels(stage, reason).inc(count)
