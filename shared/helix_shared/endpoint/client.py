"""Asks an OpenAI-compatible server (`POST <base>/chat/completions`) one question.

A failure that may pass raises `UnavailableError` with the time to wait; the caller asks again, as often as it
takes. The key is sent in a header and written nowhere. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import httpx

from helix_memory.transport.credentials import is_local
from helix_shared.endpoint.breaker import Breaker
from helix_shared.endpoint.metrics import BREAKER, CALLS, TOKENS
from helix_shared.endpoint.reply_form import REFUSALS, ReplyForm
from helix_shared.errors import PermanentError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from helix_shared.endpoint.settings import EndpointSettings

ANSWER_BYTES: Final = 1024 * 1024
"""A longer body is not read."""
REASON_BYTES: Final = 4_096
PATIENCE_SECONDS: Final = 10.0
"""A caller that waits for less says nothing about the server when it gives up."""
PAUSE_STATUSES: Final = frozenset({429, 503})
OK: Final = 200
_CODE: Final = re.compile(r"[\w.-]{1,64}\Z", re.ASCII)


class UnavailableError(TemporaryError):
    """The server did not answer; ask again after `delay_seconds`."""


class RefusedError(PermanentError):
    """The server accepts other questions, but not this one."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `call` is its label in metrics and ledger."""

    call: str
    system: str
    text: str
    schema: Mapping[str, Any]
    """JSON schema of the answer, for servers that take one."""
    most_tokens: int
    """Longest answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model wrote; token counts are the server's, else an estimate."""

    text: str
    is_cut: bool
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    retry_after: str
    body: bytes


def _past_proxies(server: httpx.URL) -> dict[str, None]:
    """No proxy for a model on this machine; other variables, as `SSL_CERT_FILE`, still count."""
    host = server.netloc.decode("ascii")
    return {f"all://{host}": None} if is_local(host if server.port else f"{host}:") else {}


class Endpoint:
    """One server and one model; used from one event loop, closed by its owner."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str,
        form: ReplyForm,
        breaker: Breaker,
        timeout_seconds: float,
        concurrency: int,
    ) -> None:
        self.model = model
        self.form = form
        self.breaker = breaker
        base = httpx.URL(base_url)
        # a query, such as the version of an interface, stays behind the path
        self._url = base.copy_with(path=f"{base.path.rstrip('/')}/chat/completions")
        self._timeout_seconds = timeout_seconds
        self._places = asyncio.Semaphore(concurrency)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=None,  # noqa: S113  `asyncio.timeout` limits the whole call
            follow_redirects=False,
            mounts=_past_proxies(base),
        )

    @classmethod
    def of(cls, settings: EndpointSettings, key: str) -> Self:
        """The client of the language model that the settings name; `key` is theirs."""
        # it logs every address it calls, which may hold credentials
        logging.getLogger("httpx").setLevel(logging.WARNING)
        return cls(
            settings.base_url,
            settings.model,
            key=key,
            form=ReplyForm(settings.structured, settings.temperature),
            breaker=Breaker(failures=settings.breaker_failures, seconds=settings.breaker_seconds),
            timeout_seconds=settings.timeout_seconds,
            concurrency=settings.concurrency,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def ask(self, question: Question, *, seconds: float | None = None) -> Reply:
        """The reply of the model to one question; `seconds` is the longest wait of the caller, if it has one.

        Raises:
            UnavailableError: it was not asked, or did not answer.
            RefusedError: the server refuses this question.
            TimeoutError: `seconds` are over.
        """
        is_sent = False
        try:
            async with asyncio.timeout(seconds) as limit, self._places:
                if not self.breaker.enter():
                    wait = self.breaker.wait_seconds
                    raise UnavailableError("the circuit breaker is open", delay_seconds=wait)
                is_sent = True
                return await self._watched(question, limit)
        except TimeoutError as error:
            if is_sent:
                raise
            CALLS.labels(question.call, "busy").inc()
            raise UnavailableError("busy: other questions are in progress", delay_seconds=1.0) from error

    async def _watched(self, question: Question, limit: asyncio.Timeout) -> Reply:
        """`_ask`; what becomes of a question that is given up at `limit`, or with its caller, is counted."""
        began = time.monotonic()
        try:
            return await self._ask(question)
        except asyncio.CancelledError:
            CALLS.labels(question.call, "timeout" if limit.expired() else "abandoned").inc()
            patience = min(PATIENCE_SECONDS, self._timeout_seconds)
            if limit.expired() and time.monotonic() - began >= patience:
                self.breaker.failed()
            else:
                self.breaker.abandoned()
            raise
        finally:
            BREAKER.state(self.breaker.state)

    async def _ask(self, question: Question) -> Reply:
        call, schema = question.call, question.schema
        sent: dict[str, Any] | None = self.form.parameters(schema, question.most_tokens)
        while sent is not None:
            response = await self._post(question, sent)
            if response.status == OK:
                return self._read(response, question, sent)
            if response.status not in REFUSALS:
                raise self._unavailable(call, response)
            reason = response.body[:REASON_BYTES].decode("utf-8", "replace")
            sent = self.form.after_refusal(sent, schema, reason)
        CALLS.labels(call, "refused").inc()
        if self.form.is_known:
            self.breaker.succeeded()
            raise RefusedError(f"the language model refuses the question: {_reason(response)}")
        self.breaker.failed()
        raise UnavailableError(
            f"the server accepts no form of the question: {_reason(response)}",
            delay_seconds=self.breaker.wait_seconds or 1.0,
        )

    async def _post(self, question: Question, fields: dict[str, Any]) -> _Response:
        call = question.call
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.text},
            ],
            **fields,
        }
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._client.stream("POST", self._url, json=body) as response,
            ):
                read = bytearray()
                async for chunk in response.aiter_bytes():
                    read += chunk
                    if len(read) > ANSWER_BYTES:
                        raise self._failure(call, "too long", f"too long: over {ANSWER_BYTES} bytes")
                retry_after = response.headers.get("retry-after", "")
                return _Response(response.status_code, retry_after, bytes(read))
        except TimeoutError as error:
            raise self._failure(
                call, "timeout", f"timeout: no answer within {self._timeout_seconds:g} s"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failure(call, "unreachable", f"unreachable: {type(error).__name__}") from error

    def _read(self, response: _Response, question: Question, sent: dict[str, Any]) -> Reply:
        call = question.call
        try:
            answer = json.loads(response.body)
            choice = answer["choices"][0]
            text = choice["message"].get("content") or ""
            is_cut = choice.get("finish_reason") == "length"
            usage = answer.get("usage") or {}
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise self._failure(call, "malformed", "malformed: the body is not a chat completion") from error
        if not isinstance(text, str) or not isinstance(usage, dict):
            raise self._failure(call, "malformed", "malformed: the body is not a chat completion")
        # half a pair of surrogates, as of an emoji that was cut off, is no text
        text = text.encode("utf-8", "replace").decode()
        self.breaker.succeeded()
        self.form.accepted(sent)
        prompt = _count(usage.get("prompt_tokens"), estimate_tokens(question.system + question.text))
        completion = _count(usage.get("completion_tokens"), estimate_tokens(text))
        CALLS.labels(call, "answered").inc()
        TOKENS.labels(call, "prompt").inc(prompt)
        TOKENS.labels(call, "completion").inc(completion)
        return Reply(text, is_cut, prompt, completion)

    def _unavailable(self, call: str, response: _Response) -> UnavailableError:
        if response.status in PAUSE_STATUSES and response.retry_after.strip().isdecimal():
            CALLS.labels(call, "paused").inc()
            self.breaker.pause(float(response.retry_after.strip()[:9]))
            return UnavailableError(
                f"the server asks for a pause ({response.status})", delay_seconds=self.breaker.wait_seconds
            )
        return self._failure(call, f"status {response.status}", _reason(response))

    def _failure(self, call: str, outcome: str, reason: str) -> UnavailableError:
        CALLS.labels(call, outcome).inc()
        self.breaker.failed()
        return UnavailableError(
            reason if reason.startswith(outcome) else f"{outcome}: {reason}",
            delay_seconds=self.breaker.wait_seconds or 1.0,
        )


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, rather too many: one for three bytes."""
    return len(text.encode("utf-8", "replace")) // 3 + 1


def _count(stated: object, estimate: int) -> int:
    return stated if type(stated) is int and 0 <= stated < 10**9 else estimate


def _reason(response: _Response) -> str:
    """The status, and the code of the error where the server names one.

    Its message is left out: it may repeat what was said.
    """
    try:
        code = json.loads(response.body)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        code = None
    is_code = isinstance(code, str) and _CODE.match(code) is not None
    return f"status {response.status} ({code})" if is_code else f"status {response.status}"
