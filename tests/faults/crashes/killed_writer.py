"""A process that applies and publishes without an end.

It imports first, says `waiting`, and begins when it is told to. Each number that it says after `begun` is
that of a generation that it has published: from then on readers may count on it. With a number it is killed
before that step of its publications: a link, a write, a sync or a rename. With `early` CURRENT names a
generation before it is there, and the process is killed between the two.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from helix_consolidation.stores.shard import Shard
from helix_shared.artifacts.generation import publishing
from helix_shared.artifacts.generation.manifest import Manifest
from tests.unit.consolidation.conftest import Bench, Stream, row

TENANT: Final = "acme"
EVENTS: Final = 2
"""Events of one generation."""
PRELOADED: Final = (
    "pytest",
    "datasketch",
    "pyarrow.dataset",
    "helix_consolidation.folding.changes",
    "helix_consolidation.folding.extracted_statements",
    "helix_consolidation.folding.fold",
)
"""What can be imported before the fork; nothing of it imports LanceDB, which then starts threads."""


def word_of(event: int) -> str:
    """A word that occurs in the text of one event alone."""
    return f"word{event}x"


def _pointer_first(root: Path, staging: Path, manifest: Manifest) -> None:
    """What `_set_current` must not do: name the generation, then make it; killed between the two."""
    publishing.set_pointer(root, manifest.generation)
    if staging.exists():
        os.kill(os.getpid(), signal.SIGKILL)


def _die_before(step: int) -> None:
    """Be killed before a step of the publications."""
    steps = itertools.count()

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if next(steps) >= step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments)

        return run

    publishing.sync = counted(publishing.sync)
    publishing.write_synced = counted(publishing.write_synced)
    for name in ("hardlink_to", "rename", "replace"):
        setattr(Path, name, counted(getattr(Path, name)))


def main(root: Path, how: str, told: Connection, said: Connection) -> None:
    """Publish until the process is killed."""
    if how == "early":
        publishing._set_current = _pointer_first
    said.send("waiting")
    told.recv()
    bench = Bench(root, Shard.open(root, maintain_every=8))
    manifest = bench.shard.manifest
    stream = Stream(0 if manifest is None else manifest.derived_sequence)
    event = 0 if manifest is None else manifest.applied_sequence
    said.send("begun")
    if how.isdigit():
        _die_before(int(how))
    while True:
        messages = []
        for _ in range(EVENTS):
            event += 1
            name = f"e{event}"
            rows = [row(TENANT, name, event, f"{word_of(event)} stands in hall {event}")]
            messages.append(stream.memories(TENANT, name, event, rows))
            messages.append(stream.links(TENANT, name, event, [f"hall {event}"]))
        bench.apply(*messages)
        said.send(bench.publish().generation)
        bench.shard.purge.retire(now=datetime.now(UTC), keep=3, min_age_seconds=0)
