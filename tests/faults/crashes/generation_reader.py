"""A process that loads the current generation without an end, and looks whether it is of one moment.

    python -m tests.faults.crashes.generation_reader FOLDER STOP LOADS

It ends when the file STOP exists and it has done LOADS loads, and says its `Loads` as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.manifest import digest_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import CorruptArtifactError
from helix_shared.identity import memory_id
from tests.faults.crashes.killed_writer import TENANT, word_of


@dataclass
class Loads:
    """What one reader saw."""

    loads: int = 0
    generations: int = 0
    retried: int = 0
    """Generations that were removed while they were loaded, because a newer one is current."""
    wrong: list[str] = field(default_factory=list)
    """Accepted, and not what was published; refused, although current; or older than the one before."""


_DIGESTS: Final = [0]
"""Digests of the memories of the first n events, by n."""


def _digest(events: int) -> int:
    """The digest of the memories of the first `events` events."""
    for number in range(len(_DIGESTS), events + 1):
        own = int(digest_of([memory_id(TENANT, f"e{number}", 0)]), 16)
        _DIGESTS.append(_DIGESTS[-1] ^ own)
    return _DIGESTS[events]


def differences(generation: Generation) -> list[str]:
    """In what the artifacts of a generation are not those of the events that its manifest names."""
    manifest = generation.manifest
    events = manifest.applied_sequence
    rows = generation.vectors.take(range(len(generation.signals)), ["memory_id", "text"])
    found = {
        "digest": (digest_of(rows["memory_id"].to_pylist()), f"{_digest(events):016x}"),
        "rows": (len(rows), events),
        "signals": (len(generation.signals), events),
        "graph": (generation.graph.memories, events),
        "entities": (generation.graph.entities, events),
        "last text": (rows["text"].to_pylist()[-1].split()[0], word_of(events)),
    }
    for number in (events, events + 1):
        hits = generation.lexicon.search(word_of(number), Selection(tenant_id=TENANT), limit=2)
        found[f"lexicon of {number - events}"] = (len(hits.ordinals), int(number == events))
    return [f"{name}: {was}, not {wanted}" for name, (was, wanted) in found.items() if was != wanted]


def load(root: Path, number: int, verified: set[tuple[str, str]]) -> list[str]:
    """Verify and open a generation as the query service does; returns what is wrong in it."""
    manifest = verify(folder_of(root, number), verified=verified, beside=True)
    generation = Generation.open(root, number, manifest=manifest)
    try:
        return differences(generation)
    finally:
        generation.close()


def read_until(root: Path, stop: Path, wanted: int) -> Loads:
    """Load until `stop` exists, and `wanted` times at least."""
    seen, last = Loads(), 0
    verified: set[tuple[str, str]] = set()
    while seen.loads < wanted or not stop.exists():
        number = current_number(root)
        if number is None:
            continue
        if number < last:
            seen.wrong.append(f"{number} after {last}")
        seen.generations += number != last
        last = number
        try:
            wrong = load(root, number, verified)
        except (CorruptArtifactError, OSError, ValueError, RuntimeError) as error:
            if current_number(root) == number:
                seen.wrong.append(f"{number} is current and refused: {error}")
            seen.retried += 1
            continue
        seen.loads += 1
        seen.wrong += [f"{number}: {one}" for one in wrong]
    return seen


if __name__ == "__main__":
    result = read_until(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(asdict(result)))
