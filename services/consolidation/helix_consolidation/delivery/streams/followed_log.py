"""Follows the log for a writer: reads its end, and archives everything before it is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_memory.transport.connection import UNANSWERED, reason_of, server_id
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_consolidation.archiving.event_archive import EventArchive
    from helix_shared.artifacts.generation.manifest import StreamState

_log = logger(__name__)


class FollowedLog:
    """The log of one writer, from its start on.

    A server that starts again with a damaged file drops what is behind it, and gives the sequences a second
    time. So the writer begins again with every other server, and compares before it applies anything.
    """

    def __init__(self, client: Client, log: StreamState, archive: EventArchive | None) -> None:
        self._client, self._log, self._archive = client, log, archive
        self._server = server_id(client)

    @property
    def last_sequence(self) -> int:
        """The end of the log when it was last read."""
        return self._log.last_sequence

    async def prepare_to_apply(self) -> bool:
        """Read the log as it is, and archive it to its end; False: nothing may be applied now.

        Raises:
            TemporaryError: as `refresh`.
            PermanentError: the log has other events than the archive.
        """
        log = await self.refresh()
        return log is not None and await self._ensure_archived(log.last_sequence)

    async def refresh(self) -> StreamState | None:
        """Read and note the log as it is; None where NATS does not answer.

        Raises:
            TemporaryError: it lost events, or may have: the writer begins again, and compares.
        """
        try:
            log = await event_stream(self._client.jetstream())
        except UNANSWERED as error:
            _warn(error)
            return None
        self._check_continues(log)
        self._log = log
        return log

    def _check_continues(self, log: StreamState) -> None:
        before = self._log
        if server_id(self._client) != self._server:
            raise TemporaryError("another NATS server answers")
        if log.created_at != before.created_at or log.last_sequence < before.last_sequence:
            raise TemporaryError(
                f"{log.name} of {log.created_at} ends at {log.last_sequence}, that of {before.created_at} "
                f"ended at {before.last_sequence}"
            )

    async def _ensure_archived(self, last: int) -> bool:
        """Archive what is missing up to `last`, if there is an archive; False: that is not possible now."""
        if self._archive is None:
            return True
        try:
            await self._archive.catch_up(last)
        except (*UNANSWERED, TemporaryError) as error:
            _warn(error)
            return False
        return True


def _warn(error: Exception) -> None:
    _log.warning("messages not applied yet", reason=reason_of(error))
