"""The writer's own state, saved inside every generation: what is answered, what is pending, tombstones.

A small file with what is under way, and the segments of `tombstone_log`. All of them are listed and
checksummed in the manifest like any other file, so they are never older or newer than the stores beside them.
What follows from the stores themselves is not in them: `load` reads that back from the stores.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.ledger.acts import Act, Pending
from helix_consolidation.ledger.sequences import AnsweredSequences
from helix_consolidation.ledger.tombstone_log import TombstoneLog
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_consolidation.folding.folding import Known

STATE_FILE: Final = "consolidation/state.json"
TOMBSTONES: Final = "consolidation/tombstones"
STATE_VERSION: Final = 3


def save_state(known: Known, live: Path) -> dict[str, Path | bytes]:
    """The files of the state by relative path: bytes to write, and files in the folder `live` to link."""
    log = TombstoneLog.open(live / TOMBSTONES) if known.log is None else known.log
    known.log = log
    log.append(known.tombstones.take_changes())
    linked: dict[str, Path | bytes] = {f"{TOMBSTONES}/{path.name}": path for path in log.files}
    return linked | {STATE_FILE: encode_state(known)}


def encode_state(known: Known) -> bytes:
    """Content of the small file."""
    value = {
        "version": STATE_VERSION,
        "ordinals": known.ledger.size,
        "applied": known.applied.to_json(),
        "derived": known.derived.without(known.unfiled).to_json(),
        "derived_stream": known.derived_stream,
        "erasure": known.erasure,
        "recent": [[*key, sequence] for key, sequence in sorted(known.recent.items())],
    }
    others = json.dumps(value, separators=(",", ":")).removesuffix("}")
    return f'{others},"pending":{known.pending.encoded()}}}'.encode()


def restore_state(known: Known, live: Path) -> int:
    """Put the state in the folder `live` into `known`; returns the number of ordinals given.

    Raises:
        CorruptArtifactError: a file is missing, damaged or of another version.
    """
    path = live / STATE_FILE
    try:
        value = json.loads(path.read_bytes())
        if value["version"] != STATE_VERSION:
            raise CorruptArtifactError(f"state of version {value['version']} in {path}; rebuild, or upgrade")
        _restore(known, value)
        known.log = TombstoneLog.open(live / TOMBSTONES)
        for record in known.log.records():
            known.tombstones.restore(record)
        return int(value["ordinals"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CorruptArtifactError(f"generation has no readable state: {path}") from error


def _restore(known: Known, value: dict[str, Any]) -> None:
    known.applied = AnsweredSequences.from_json(value["applied"])
    known.derived = AnsweredSequences.from_json(value["derived"])
    known.derived_stream = value["derived_stream"]
    # a state of before this was saved has none
    known.erasure = value.get("erasure", 0)
    known.pending = Pending.of([Act.from_json(act) for act in value["pending"]])
    known.recent = {(kind, key): sequence for kind, key, sequence in value["recent"]}
