"""The writer's own state, saved inside every generation: sequences answered, and tombstones.

One small file in the generation's folder, listed and checksummed in its manifest like any other,
so it is never older or newer than the stores beside it. What follows from the stores themselves
is not in it: `load` reads that back from them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.sequences import AnsweredSequences
from helix_consolidation.tombstones import Tombstones
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_consolidation.folding import Known

STATE_FILE: Final = "consolidation/state.json"
STATE_VERSION: Final = 1


def encode_state(known: Known) -> bytes:
    """The file's content."""
    value = {
        "version": STATE_VERSION,
        "ordinals": known.ledger.size,
        "applied": _sequences_to_json(known.applied),
        "derived": _sequences_to_json(known.derived),
        "tombstones": known.tombstones.to_json(),
    }
    return json.dumps(value, separators=(",", ":")).encode()


def restore_state(known: Known, live: Path) -> int:
    """Put the state in the folder `live` into `known`; returns the number of ordinals given.

    Raises:
        CorruptArtifactError: the file is missing, damaged or of another version.
    """
    path = live / STATE_FILE
    try:
        value = json.loads(path.read_bytes())
        if value["version"] != STATE_VERSION:
            raise CorruptArtifactError(f"state of version {value['version']} in {path}; rebuild, or upgrade")
        known.applied = _sequences_from_json(value["applied"])
        known.derived = _sequences_from_json(value["derived"])
        known.tombstones = Tombstones.from_json(value["tombstones"])
        return int(value["ordinals"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CorruptArtifactError(f"generation has no readable state: {path}") from error


def _sequences_to_json(sequences: AnsweredSequences) -> dict[str, Any]:
    return {"floor": sequences.floor, "above": sequences.above}


def _sequences_from_json(value: dict[str, Any]) -> AnsweredSequences:
    return AnsweredSequences(value["floor"], value["above"])
