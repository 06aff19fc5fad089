"""What all sections share: the base class, bounds, and names of channels."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Channel = Literal["dense", "lexical", "entity", "associative"]
"""Names of `helix_query.recall.channels.CHANNELS`, in its order, against which a profile is checked."""
CHANNEL_NAMES: Final[tuple[Channel, ...]] = get_args(Channel)
DENSE: Final = "dense"
LEXICAL: Final = "lexical"

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=10)]


class Section(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")
