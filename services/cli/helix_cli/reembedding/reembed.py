"""The whole of it: from the log to stores with the vectors of another model, and those to their place."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.clients.broker import connected_client, last_event_sequence
from helix_cli.reembedding.derive import Workers
from helix_cli.reembedding.hand_over import draw_statements_again, hand_over
from helix_cli.reembedding.replay import Replay
from helix_cli.reembedding.workspace import open_shard, owned, workspace_of
from helix_cli.stack.hold import held
from helix_consolidation.delivery.abandoned import clear_workspace
from helix_consolidation.delivery.stream_state import created_at
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.anew import maintain_now, package_digest
from helix_ingest.settings import IngestSettings
from helix_memory.subjects import EVENTS_STREAM
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import choose_model

if TYPE_CHECKING:
    from helix_cli.stack.addresses import Server
    from helix_cli.stack.home import HomeFolder
    from helix_shared.artifacts.generation.manifest import Manifest

CLOSE_ENOUGH: Final = 64
"""Events behind the log at which the workers are held for the rest."""

Say = Callable[[str], None]


@dataclass(slots=True)
class Progress:
    """How far it is, told every few seconds."""

    say: Say
    every_seconds: float = 5.0
    _started: float = 0.0
    _first: int = 0
    _told: float = 0.0

    def begin(self, done: int) -> None:
        """Count from here."""
        self._started = self._told = time.monotonic()
        self._first = done

    def reached(self, done: int, of: int) -> None:
        """Tell it if that is due."""
        now = time.monotonic()
        if now - self._told < self.every_seconds:
            return
        self._told = now
        rate = (done - self._first) / (now - self._started)
        left = duration((of - done) / rate) if rate else "unknown"
        self.say(f"embedded {done:,} of {of:,} events ({done / of:.0%}), {rate:.1f} a second, {left} left")


async def reembed(
    home: HomeFolder, models: Path, folder: Path, nats: Server, *, say: Say, every_seconds: float = 5.0
) -> Manifest | None:
    """Make every memory again with the model in `folder`, and hand it over; returns what is published.

    None: the log holds no memory yet.

    May be ended at any time: it continues from its last checkpoint when it is called again with the same
    model. Once the generation is published there is nothing to continue: `helix up` makes its model the
    default, and `discard` removes the folder.

    Raises:
        TemporaryError: NATS does not answer, or no `helix up` runs on the home.
        PermanentError: another process does the same, or a message cannot be applied.
    """
    settings, workspace = ConsolidationSettings.load(), workspace_of(home.data)
    lanes = IngestSettings.load().lanes_of(len(os.sched_getaffinity(0)))
    with contextlib.ExitStack() as stack:
        stack.enter_context(owned(workspace))
        encoder = stack.enter_context(Encoder.load(folder, lanes=lanes))
        workers = Workers.configured(encoder)
        async with connected_client(nats.address, instance=nats.instance, credentials=nats.nats) as client:
            jetstream = client.jetstream()
            key = {
                "model": encoder.card.id,
                "rules": workers.version,
                "consolidation": package_digest(),
                "log": await created_at(jetstream, EVENTS_STREAM),
                "vectors": repr(settings.vector_form),
            }
            shard, continues = open_shard(workspace, key, settings)
            stack.callback(shard.close)
            replay, progress = Replay(client, shard, workers), Progress(say, every_seconds)
            if continues:
                say(f"continues after event {replay.sequence:,}, where it was ended")
            progress.begin(replay.sequence)

            async def catch_up() -> None:
                while (end := await last_event_sequence(jetstream)) - replay.sequence > CLOSE_ENOUGH:
                    await replay.run(end, advance=progress.reached)

            await catch_up()
            await replay.checkpoint()
            await asyncio.to_thread(maintain_now, shard)
            # both took long if there is much
            await catch_up()
            say(f"embedded {replay.sequence:,} events; ingest and consolidation stop for the rest")
            with contextlib.ExitStack() as hold:
                await asyncio.to_thread(hold.enter_context, held(home))
                end = await last_event_sequence(jetstream)
                await replay.run(end, advance=progress.reached)
                # before the step, because a command that is ended after it cannot be repeated
                if await draw_statements_again(jetstream):
                    say(
                        "extract draws its statements again from recorded answers; "
                        "verdicts about unsure pairs are not taken over"
                    )
                manifest = await hand_over(client, shard, home.data) if shard.can_publish else None
                choose_model(models, folder.name)
            shard.close()
        clear_workspace(workspace)
    return manifest


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"  # noqa: PLR2004
