"""Settings of ingest; every variable starts with `HELIX_INGEST_`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_shared.encoders.model import ModelCard
from helix_shared.settings import BrokerSettings, helix_home

SPECIAL_TOKENS: Final = 8
"""Room for the model's own tokens and the speaker in front of a piece."""


class IngestSettings(BrokerSettings):
    """What an operator may set."""

    model_config = SettingsConfigDict(env_prefix="HELIX_INGEST_", frozen=True, extra="forbid")

    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of the embedding models"
    )
    batch_size: int = Field(64, ge=1, le=512, description="events fetched at once")
    lanes: int = Field(2, ge=1, le=64, description="embedding lanes, one thread each")
    piece_tokens: int = Field(
        250, ge=32, le=8192, description="longest piece of a text in tokens; never above the model's limit"
    )

    def most_tokens(self, card: ModelCard) -> int:
        """Longest piece for one model."""
        return min(self.piece_tokens, card.max_tokens - SPECIAL_TOKENS)
