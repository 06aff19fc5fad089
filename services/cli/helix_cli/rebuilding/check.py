"""The comparison of a rebuild with what is there, at the moment both have applied the same events."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from helix_cli.clients.broker import last_event_sequence
from helix_cli.rebuilding.parity.compare import compare
from helix_cli.rebuilding.parity.result import Parity
from helix_cli.rebuilding.parity.unfinished import unfinished_events
from helix_cli.rebuilding.served import Served
from helix_consolidation.stores.erased_before import erased_spans
from helix_memory.transport.polling import async_poll
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from nats.aio.client import Client

    from helix_cli.rebuilding.progress import Progress
    from helix_cli.rebuilding.replay import Replay
    from helix_cli.rebuilding.versions import VersionRow

QUIET_SECONDS: Final = 10.0
"""Longest wait for a moment in which the served generation has everything."""


@dataclass(slots=True)
class Check:
    """Compares the data folder `data` with the stores in `workspace`; `rows` says what was made with what."""

    data: Path
    workspace: Path
    rows: list[VersionRow]
    _verified: set[tuple[str, str]] = field(default_factory=set)

    @property
    def applied(self) -> int:
        """The event up to which the data folder is complete; 0 where that cannot be told."""
        return Served.look(self.data).applied

    async def prepare(self, client: Client) -> None:
        """Read and hash what is there while the workers go on, and wait for a quiet moment."""
        served = await asyncio.to_thread(Served.look, self.data, self._verified)
        if served.problem:
            return
        jetstream = client.jetstream()
        async for _ in async_poll(QUIET_SECONDS, every_seconds=0.25):
            if self.applied >= await last_event_sequence(jetstream):
                return

    async def compare(self, client: Client, replay: Replay, progress: Progress) -> Parity:
        """The result; the stores are brought to the event up to which the data folder is complete.

        Called while no process writes.
        """
        served = await asyncio.to_thread(Served.look, self.data, self._verified)
        parity = Parity(served.number, served.applied, served.problem)
        parity.changed = [row.line for row in self.rows if row.differs and not row.is_of_language_model]
        parity.reasons = [row.line for row in self.rows if row.is_of_language_model]
        end = await last_event_sequence(client.jetstream())
        if not served.problem and served.applied > end:
            parity.not_compared = f"it has events up to {served.applied}, the log ends at {end}"
        if parity.not_compared:
            return parity
        if replay.sequence < served.applied:
            await replay.run(served.applied, advance=progress.reached)
        if replay.sequence > served.applied:
            parity.reasons.append(
                f"events: it has applied those up to {served.applied:,}, compared with those up to "
                f"{replay.sequence:,}"
            )
        unfinished = await unfinished_events(client, served.folder, served.applied)
        if unfinished is None:
            parity.not_compared = "too many messages about its events are on their way"
            return parity
        parity.unfinished = len(unfinished)
        await replay.checkpoint()
        try:
            await asyncio.to_thread(self._compare, served, parity, unfinished)
        except CorruptArtifactError as error:
            parity.sections, parity.not_compared = [], str(error)
        return parity

    def _compare(self, served: Served, parity: Parity, unfinished: set[int]) -> None:
        with contextlib.ExitStack() as opened:
            before = Generation.open(self.data, served.number)
            opened.callback(before.close)
            number = current_number(self.workspace)
            if number is None:
                parity.not_compared = "the log holds no memory"
                return
            after = Generation.open(self.workspace, number)
            opened.callback(after.close)
            erased = erased_spans(served.folder)
            compare(before, after, parity, unfinished=unfinished, erased=erased)
