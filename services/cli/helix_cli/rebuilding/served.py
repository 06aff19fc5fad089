"""The generation that a data folder has now, as far as it can be read.

A rebuild is also the way out where it cannot: another format, a damaged file, a missing folder. What its
manifest states is taken where the JSON is whole, whatever the format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_shared.artifacts.generation.folders import current_number, folder_of, highest_number
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.manifest import raw_manifest
from helix_shared.errors import CorruptArtifactError


@dataclass(frozen=True, slots=True)
class Served:
    """One look at a data folder."""

    folder: Path
    number: int
    """0: there is no generation."""
    stated: dict[str, Any] = field(default_factory=dict)
    """The manifest; empty if it is no JSON."""
    problem: str = ""
    """Why it cannot be read whole; empty: it can."""

    @classmethod
    def look(cls, data: Path, verified: set[tuple[str, str]] | None = None) -> Served:
        """What is there. With `verified` every file is checked that is not in the set, which then has it."""
        problem = ""
        try:
            number = current_number(data)
        except CorruptArtifactError as error:
            number, problem = None, str(error)
        if number is None:
            number = highest_number(data)
        if not number:
            return cls(data, 0, problem="there is no generation")
        folder = folder_of(data, number)
        stated = raw_manifest(folder)
        if not problem and verified is not None:
            try:
                verify(folder, verified=verified)
            except CorruptArtifactError as error:
                problem = str(error)
        return cls(folder, number, stated, problem)

    @property
    def is_empty(self) -> bool:
        """Whether it states that nothing was ever stored in it."""
        counts = self.stated.get("counts")
        return isinstance(counts, dict) and counts.get("signals") == 0

    @property
    def applied(self) -> int:
        """Every event up to this one is in; 0 where nothing is stated."""
        applied = self.stated.get("applied_sequence")
        return applied if isinstance(applied, int) else 0

    @property
    def model_checksum(self) -> str:
        """Of the model that made its vectors; empty where nothing is stated."""
        model = self.stated.get("model")
        return str(model.get("checksum", "")) if isinstance(model, dict) else ""

    @property
    def made_with(self) -> dict[str, tuple[str, ...]]:
        """Versions and settings by name, as `Manifest.made_with`; empty where nothing is stated."""
        found = self.stated.get("made_with")
        if not isinstance(found, dict):
            return {}
        return {str(name): tuple(map(str, versions)) for name, versions in found.items()}
