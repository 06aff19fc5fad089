"""The writer's own state inside every generation: processed sequences, pending actions, tombstones.

A small JSON file, and the segments of `tombstone_log`. All are listed and checksummed in the manifest like
any other file, so they always match the stores beside them. What follows from the stores themselves is not
saved: `load` derives it again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.ledger.lifecycle.erasures import Erasures
from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction, PendingActions
from helix_consolidation.ledger.lifecycle.tombstone_log import TombstoneLog
from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_shared.artifacts.erasures.receipts import RECEIPTS, append_receipts
from helix_shared.errors import REBUILD, CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_consolidation.ledger.consolidation_state import ConsolidationState

STATE_FILE: Final = "consolidation/state.json"
TOMBSTONES: Final = "consolidation/tombstones"
STATE_VERSION: Final = 5


def save_state(state: ConsolidationState, live: Path) -> dict[str, Path | bytes]:
    """The files of the state by relative path: bytes to write, and files in the folder `live` to link."""
    log = TombstoneLog(live / TOMBSTONES) if state.log is None else state.log
    state.log = log
    log.append(state.tombstones.take_changes())
    linked: dict[str, Path | bytes] = {f"{TOMBSTONES}/{path.name}": path for path in log.files}
    changed = [erasure for erasure in state.erasures.open.values() if erasure.is_changed]
    receipts = append_receipts(live / RECEIPTS, [erasure.receipt for erasure in changed])
    linked |= {f"{RECEIPTS}/{path.name}": path for path in receipts}
    for erasure in changed:
        erasure.is_changed = False
    return linked | {STATE_FILE: encode_state(state)}


def encode_state(state: ConsolidationState) -> bytes:
    """Content of the JSON file."""
    value = {
        "version": STATE_VERSION,
        "ordinals": state.ledger.size,
        "applied": state.applied.to_json(),
        "derived": state.derived.without(state.unstored_dead_letters).to_json(),
        "derived_stream": state.derived_stream,
        "erasure": state.erasure_generation,
        "decided": state.undecided.decided,
        "access_stream": state.access_stream,
        "accessed": state.accessed,
        "erasures": state.erasures.to_json(),
        "recent": [[*key, sequence] for key, sequence in sorted(state.latest_derived.items())],
    }
    others = json.dumps(value, separators=(",", ":")).removesuffix("}")
    return f'{others},"pending":{state.pending.encoded()}}}'.encode()


def restore_state(state: ConsolidationState, live: Path) -> int:
    """Read the state in the folder `live` into `state`; returns the number of ordinals assigned.

    Raises:
        CorruptArtifactError: a file is missing, damaged or of another version.
    """
    path = live / STATE_FILE
    try:
        value = json.loads(path.read_bytes())
        if value["version"] != STATE_VERSION:
            raise CorruptArtifactError(f"state of version {value['version']} in {path}; {REBUILD}")
        _restore(state, value)
        state.log = TombstoneLog(live / TOMBSTONES)
        for record in state.log.records():
            state.tombstones.restore(record)
        return int(value["ordinals"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CorruptArtifactError(f"generation has no readable state: {path}") from error


def _restore(state: ConsolidationState, value: dict[str, Any]) -> None:
    state.applied = ProcessedSequences.from_json(value["applied"])
    state.derived = ProcessedSequences.from_json(value["derived"])
    state.derived_stream = value["derived_stream"]
    # older states of this version lack it
    state.erasure_generation = value.get("erasure", 0)
    state.access_stream, state.accessed = value.get("access_stream", ""), value.get("accessed", 0)
    state.pending = PendingActions.of([LifecycleAction.from_json(action) for action in value["pending"]])
    state.erasures = Erasures.from_json(value["erasures"])
    state.undecided.load((), value["decided"])
    state.latest_derived = {(kind, key): sequence for kind, key, sequence in value["recent"]}
