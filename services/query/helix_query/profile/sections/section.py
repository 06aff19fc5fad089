"""What all sections share: the base class, bounds, names of channels and of graph methods."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Channel = Literal["dense", "lexical", "entity", "associative"]
"""Names of `helix_query.recall.channels.CHANNELS`, in its order, against which a profile is checked."""
CHANNEL_NAMES: Final[tuple[Channel, ...]] = get_args(Channel)
DENSE: Final = "dense"
LEXICAL: Final = "lexical"

GraphMethod = Literal["pagerank", "walk"]
"""How the graph around the candidates is walked."""
PAGERANK: Final = "pagerank"
WALK: Final = "walk"

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=10)]


class Section(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


FittedFor = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
"""`ModelCard.encoder_checksum` of the encoder whose cosines constants were fitted to; empty: any."""
FITTED_FOR: Final = "encoder_checksum of the model it was fitted for; left out with another one; empty: any"
