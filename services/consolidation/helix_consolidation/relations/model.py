"""The fitted model: a logistic regression for each relation, over the same features.

`helix-lab relations --out` writes `fitted.toml`; it is read once.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from helix_consolidation.relations.features import NAMES
from helix_shared.artifacts.relations.records import RELATION_KINDS, RelationKind
from helix_shared.errors import CorruptArtifactError

MODEL_FILE: Final = "fitted.toml"


@dataclass(frozen=True, slots=True)
class RelationModel:
    """Coefficients by relation, and the probabilities from which a relation is kept."""

    coefficients: NDArray[np.float64]
    """[len(NAMES), len(RELATION_KINDS)]"""
    intercepts: NDArray[np.float64]
    link: float
    """Relations below this probability are not kept."""
    relate: float
    """The same for RELATES, which most statements about one thing do."""
    repeat: float
    """From here on a DUPLICATE counts as the same statement."""
    close: float
    """From here on an UPDATES closes the older statement, where the rules allow it."""
    encoder: str = ""
    """`ModelCard.encoder_checksum` of the encoder whose cosines it was fitted to. Others use it, too."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RelationModel:
        """The model of a parsed file.

        Raises:
            CorruptArtifactError: a relation or a feature is missing, or one is unknown.
        """
        try:
            tables = [values["relations"][relation] for relation in RELATION_KINDS]
            if any(set(table) != {"intercept", *NAMES} for table in tables):
                raise CorruptArtifactError(f"{MODEL_FILE} has other features than the code")
            return cls(
                np.array([[float(table[name]) for table in tables] for name in NAMES]),
                np.array([float(table["intercept"]) for table in tables]),
                link=float(values["link"]),
                relate=float(values["relate"]),
                repeat=float(values["repeat"]),
                close=float(values["close"]),
                encoder=str(values["encoder"]),
            )
        except KeyError as missing:
            raise CorruptArtifactError(f"{MODEL_FILE} has no {missing}") from None

    def probabilities(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of each relation for each row of features, [len(rows), len(RELATION_KINDS)]."""
        scores: NDArray[np.float64] = rows @ self.coefficients + self.intercepts
        return 1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0)))


@functools.cache
def shipped_model() -> RelationModel:
    """The model beside this code."""
    text = files(__package__).joinpath(MODEL_FILE).read_text(encoding="utf-8")
    return RelationModel.of(tomllib.loads(text))


def column(relation: RelationKind) -> int:
    """The column of a relation in `RelationModel.probabilities`."""
    return RELATION_KINDS.index(relation)
