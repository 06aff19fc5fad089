"""Events that were refused in a rebuild, before any worker had them: their dead letters are not stored yet.

Workers do not get an event that the new stores hold, so nobody else would tell of it. The list is a file in
the folder of the rebuild, because a rebuild that continues does not read its events again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.settle import SERVICE as CONSOLIDATION
from helix_consolidation.delivery.settle import store_unreached
from helix_memory.subjects import EVENTS_STREAM
from helix_shared.broker import log, streams
from helix_shared.broker.dead_letters import LetterOrigin, publish_dead_letter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nats.aio.client import Client

    from helix_memory.transport.publisher import Publisher

FILE: Final = "refused.jsonl"
INGEST: Final = streams.INGEST
UNREACHED: Final = ""
"""In the place of a reason: the event names nothing that it could reach."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """The list in one folder."""

    folder: Path

    def add(self, service: str, sequence: int, reason: str) -> None:
        """Note that `service` refuses an event."""
        with (self.folder / FILE).open("a", encoding="utf-8") as file:
            # a line that a kill cut has no end
            file.write("\n" + json.dumps([service, sequence, reason]) + "\n")

    def noted(self) -> dict[tuple[str, int], str]:
        """Reasons by service and sequence; a line cut by a kill is of an event that is read again."""
        found: dict[tuple[str, int], str] = {}
        try:
            lines = (self.folder / FILE).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            try:
                service, sequence, reason = json.loads(line)
            except ValueError:
                continue
            found[service, sequence] = reason
        return found

    async def store(self, client: Client, publisher: Publisher, *, handled: Mapping[str, int]) -> int:
        """Store the dead letters of events above what each service has `handled`; returns how many.

        Raises:
            TemporaryError: NATS does not answer; calling again repeats nothing within an hour.
        """
        due = {key: reason for key, reason in self.noted().items() if key[1] > handled.get(key[0], 0)}
        for (service, sequence), reason in due.items():
            if reason == UNREACHED and service == CONSOLIDATION:
                await store_unreached(client, [sequence], publisher)
                continue
            logged = await log.message_at(client, EVENTS_STREAM, sequence)
            if logged is not None:
                origin = LetterOrigin(logged.subject, EVENTS_STREAM, sequence, sequence)
                await publish_dead_letter(origin, logged.body, reason, service=service, publisher=publisher)
        return len(due)
