"""What the explorer asks of NATS: the ends of the streams, dead letters, and a writer to settle them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError as NoSuchMessageError

from helix_memory import subjects
from helix_memory.transport import connection, dead_letters
from helix_memory.transport.connection import UNANSWERED
from helix_memory.transport.credentials import NatsCredentials
from helix_memory.transport.letter_requests import request_letters
from helix_shared.errors import NotFoundError, TemporaryError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_gateway.settings import GatewaySettings
    from helix_memory.transport.dead_letters import DeadLetter, Filter
    from helix_memory.transport.letter_requests import LetterRequest, Redriven

NAME: Final = "helix-explorer"
STREAMS: Final = (
    subjects.EVENTS_STREAM,
    subjects.DERIVED_STREAM,
    subjects.DLQ_STREAM,
)


@dataclass(frozen=True, slots=True)
class Stream:
    """How much a stream holds."""

    name: str
    messages: int
    size_bytes: int
    last_sequence: int


class Broker:
    """Connects at the first call; used from one event loop."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._connecting = asyncio.Lock()
        self._client: Client | None = None

    async def streams(self) -> list[Stream]:
        """Those that exist.

        Raises:
            TemporaryError: NATS does not answer.
        """
        async with self._jetstream() as jetstream:
            found = await asyncio.gather(*(_stream(jetstream, name) for name in STREAMS))
            return [one for one in found if one is not None]

    async def letters(self, *, limit: int, before: int, only: Filter) -> list[DeadLetter]:
        """The newest dead letters below a sequence; none where there is no stream of them.

        Raises:
            TemporaryError: NATS does not answer.
        """
        async with self._jetstream() as jetstream:
            if await _stream(jetstream, subjects.DLQ_STREAM) is None:
                return []
            return await dead_letters.newest(jetstream, limit=limit, before=before or None, only=only)

    async def letter(self, sequence: int) -> tuple[DeadLetter, bytes]:
        """A dead letter and its body.

        Raises:
            NotFoundError: there is none.
            TemporaryError: NATS does not answer.
        """
        async with self._jetstream() as jetstream:
            try:
                message = await jetstream.get_msg(subjects.DLQ_STREAM, sequence)
            except NoSuchMessageError as error:
                raise NotFoundError(f"there is no dead letter {sequence}") from error
            return dead_letters.described(message), message.data or b""

    async def settle(self, request: LetterRequest) -> list[Redriven]:
        """What became of letters that a writer is asked to redrive or drop.

        Raises:
            TemporaryError: no writer runs, or it does not finish within `wait_seconds` of the settings.
        """
        async with self._answered():
            client = await self._connected()
        return await request_letters(client, request, seconds=self._settings.wait_seconds)

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            with contextlib.suppress(*UNANSWERED):
                await asyncio.wait_for(self._client.close(), connection.CONNECT_SECONDS)

    @contextlib.asynccontextmanager
    async def _jetstream(self) -> AsyncIterator[JetStreamContext]:
        async with self._answered():
            yield (await self._connected()).jetstream(timeout=connection.CONNECT_SECONDS)

    @contextlib.asynccontextmanager
    async def _answered(self) -> AsyncIterator[None]:
        url = self._settings.nats_url
        try:
            async with asyncio.timeout(connection.CONNECT_SECONDS):
                yield
        except UNANSWERED as error:
            raise TemporaryError(f"NATS at {url} failed: {connection.reason_of(error)}") from error

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                file = self._settings.nats_credentials_file
                credentials = NatsCredentials(file, self._settings.ca_file if file else None)
                self._client = await connection.connect(
                    self._settings.nats_url, name=NAME, credentials=credentials
                )
            return self._client


async def _stream(jetstream: JetStreamContext, name: str) -> Stream | None:
    try:
        state = (await jetstream.stream_info(name)).state
    except NoSuchMessageError:
        return None
    return Stream(name, state.messages, state.bytes, state.last_seq)
