"""Waiting for the first generation of a stack that has just started; `helix recall` begins with it.

NATS is imported only when it is asked, because its client is slow to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_cli.home.addresses import Server
from helix_cli.output.terminal import note
from helix_memory.transport.polling import poll
from helix_shared.errors import OtherInstanceError, TemporaryError

if TYPE_CHECKING:
    from helix_memory.transport.recall_client import RecallClient

SERVED_SECONDS: Final = 120.0
"""As a command waits for a `helix up` that is starting; a busy machine takes a minute to load the model."""


def wait_until_served(client: RecallClient, nats: Server, *, wait_seconds: float = SERVED_SECONDS) -> None:
    """Return when a generation is served, or when no event has been published yet.

    Raises:
        OtherInstanceError: another instance answers.
        TemporaryError: the query service does not answer, or serves nothing, for `wait_seconds`.
    """
    reason, is_told = "", False
    for _ in poll(wait_seconds):
        try:
            if client.status().generation or not _last_event_sequence(nats):
                return
            reason = "events are published, but none can be recalled yet"
        except OtherInstanceError:
            raise
        except TemporaryError as error:
            reason = str(error)
        if not is_told:
            note(f"{reason}; waiting up to {wait_seconds:g} s")
            is_told = True
    raise TemporaryError(f"{reason}; waited {wait_seconds:g} s, `helix status` shows its progress")


def _last_event_sequence(nats: Server) -> int:
    from helix_cli.clients import broker  # noqa: PLC0415  NATS is slow to import

    async def work() -> int:
        async with broker.jetstream_of(nats) as jetstream:
            return await broker.last_event_sequence(jetstream)

    return broker.run_async(work())
