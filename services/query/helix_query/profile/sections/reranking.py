"""Constants of stage 6b, which looks at the first candidates again; `stages.rerank` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, Field

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.sections.section import Factor, Section
from helix_shared.encoders.cross_encoder import MOST_PAIRS
from helix_shared.encoders.model import NAME_PATTERN
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_shared.encoders.model import ModelCard

MAX_RERANKED: Final = 100


class Compare(Section):
    """Constants that every comparison of the first candidates has."""

    weight: Factor = Field(
        default=0.5,
        description="standard deviations of the score that one of the comparison is worth; 0: not compared",
    )
    weight_by_intent: dict[Intent, Factor] = Field(
        default_factory=dict,
        description="the same by intent; the first entry that the query has applies",
    )

    def weight_for(self, intents: Iterable[Intent]) -> float:
        """Weight for a query of these intents."""
        return next(of_intents(self.weight_by_intent, intents), self.weight)


def _without_multi_hop(weights: dict[Intent, float]) -> dict[Intent, float]:
    if weights.get(Intent.MULTI_HOP):
        raise ValueError("multi_hop must be 0: such questions are never compared")
    return weights


class CrossEncode(Compare):
    """A cross-encoder reads the query and a memory together, one run of the model for each memory.

    It is off unless a model is named. Questions over several hops and mode dense are never compared.
    """

    model: str = Field(
        default="",
        pattern=f"^$|{NAME_PATTERN}",
        description="name of an installed reranker (`helix models import`); empty: off",
    )
    candidates: int = Field(
        default=20,
        ge=2,
        le=MOST_PAIRS,
        description="first candidates by score that are compared; no setting allows more than 30",
    )
    weight: Factor = Field(
        default=1.0, description="standard deviations of the score that one of the logits is worth; 0: off"
    )
    weight_by_intent: Annotated[dict[Intent, Factor], AfterValidator(_without_multi_hop)] = Field(
        default_factory=dict,
        description="the same by intent; the first entry that the query has applies",
    )
    seconds: float = Field(
        default=0.5,
        gt=0,
        le=10,
        description="maximum duration; where it is too short for all, none is compared. It also ends before "
        "the deadline of the recall",
    )


class Rerank(Compare):
    """Late interaction: every word of the query meets the word of a memory that is nearest to it."""

    candidates: int = Field(
        default=0, ge=0, le=MAX_RERANKED, description="first candidates by score that are compared; 0: off"
    )
    late_interaction_model: bool = Field(
        default=False,
        description="only codes of a late-interaction model are compared (`helix models import`); a recall "
        "is refused where the codes of the home are of a sentence encoder",
    )
    cross_encoder: CrossEncode = CrossEncode()

    def require_codes(self, profile: str, card: ModelCard) -> None:
        """Refuse to compare codes of a late-interaction model where the model of the home makes none.

        Raises:
            InvalidInputError: names the ranking profile and the model.
        """
        if self.late_interaction_model and not card.has_late_interaction:
            raise InvalidInputError(
                "ranking_profile",
                f"{profile!r} compares token codes of a late-interaction model, those of this home are of "
                f"the sentence encoder {card.name!r}: run `helix models import` and `helix models use`",
            )
