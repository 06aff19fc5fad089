"""The provenance of a generation: versions of the rules, and the settings that change its content.

Workers state theirs in a header of their messages. Those of consolidation are a digest of its package,
because its rules have no version. The manifest lists all that the stores were made with since they were
begun: a folder that lived through an upgrade names two versions.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_memory.subjects import MADE_WITH_HEADER, edge_of

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_consolidation.usage.decay import DecayRule
    from helix_shared.artifacts.vectors.form import VectorForm

PACKAGE: Final = Path(__file__).parents[1]
CONSOLIDATION: Final = "consolidation"
VECTORS: Final = "vectors"
DECAY: Final = "decay"
NOT_STATED: Final = "not stated"
"""In the place of a version: the message of a worker of an earlier release."""
LANGUAGE_MODEL: Final = "language model"
"""In the place of a version: what a language model said; no rebuild asks it again."""
_BY_RULES: Final = ("memories", "expansions", "links")
_DIGITS: Final = 16


def package_digest(folder: Path = PACKAGE) -> str:
    """SHA-256 over names and contents of the files of consolidation, in hexadecimal.

    Stores that were begun with other rules are not continued: one half of them would follow from each.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


@functools.cache
def _own_digest() -> str:
    return package_digest()[:_DIGITS]


def own_versions(form: VectorForm, decay: DecayRule) -> dict[str, str]:
    """What this process makes generations with, by name."""
    return {
        CONSOLIDATION: _own_digest(),
        VECTORS: f"storage={form.storage} scan={form.scan} scan_dimensions={form.scan_dimensions}",
        DECAY: (
            f"after_seconds={decay.after_seconds:g} most_salience={decay.most_salience:g} "
            f"most_accesses={decay.most_accesses}"
        ),
    }


def stated_version(message: Msg) -> tuple[str, str]:
    """The edge of a message of HELIX_DERIVED, and what its worker made it with."""
    edge = edge_of(message.subject)
    if edge not in _BY_RULES:
        return edge, LANGUAGE_MODEL
    return edge, (message.headers or {}).get(MADE_WITH_HEADER, NOT_STATED)
