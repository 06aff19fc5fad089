"""What a generation was made with, beside what this installation makes generations with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.stores.made_with import LANGUAGE_MODEL, own_versions
from helix_consolidation.usage.decay import decay_rule

if TYPE_CHECKING:
    from helix_cli.rebuilding.derive import Workers
    from helix_cli.rebuilding.served import Served
    from helix_consolidation.settings import ConsolidationSettings
    from helix_shared.encoders.model import ModelCard

MODEL: Final = "model"
_SHOWN: Final = 16


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One rule, setting or model; `there` is empty where the generation does not state it."""

    name: str
    there: tuple[str, ...]
    here: str

    @property
    def differs(self) -> bool:
        """Whether memories may differ by it."""
        return self.there != (self.here,)

    @property
    def is_of_language_model(self) -> bool:
        """Whether these are statements or verdicts that a rebuild does not make."""
        return LANGUAGE_MODEL in self.there

    @property
    def line(self) -> str:
        """The row for people."""
        there = ", ".join(self.there) or "not stated"
        if self.is_of_language_model:
            return f"{self.name}: of a language model, which is not asked again"
        return f"{self.name}: made with {there}, here is {self.here}"


def compare_versions(
    served: Served, workers: Workers, card: ModelCard, settings: ConsolidationSettings
) -> list[VersionRow]:
    """All rows, whether they differ or not.

    A generation without memories has one row, the model. A row with `LANGUAGE_MODEL` is of memories that no
    rebuild makes: it always differs.
    """
    here = {
        MODEL: card.checksum[:_SHOWN],
        **workers.versions,
        **own_versions(settings.vector_form, decay_rule(settings)),
    }
    if served.is_empty:
        here = {MODEL: here[MODEL]}
    stated = served.made_with | {MODEL: (served.model_checksum[:_SHOWN],)}
    rows = [VersionRow(name, stated.get(name, ()), version) for name, version in here.items()]
    return rows + [
        VersionRow(name, versions, "")
        for name, versions in sorted(stated.items())
        if LANGUAGE_MODEL in versions
    ]
