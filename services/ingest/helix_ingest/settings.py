"""Settings of ingest; every variable starts with `HELIX_INGEST_`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_shared.encoders.model import ModelCard
from helix_shared.settings import BrokerSettings, helix_home

MIB: Final = 1024**2
SPECIAL_TOKENS: Final = 8
"""Room for the model's own tokens and the speaker in front of a piece."""


class IngestSettings(BrokerSettings):
    """What an operator may set."""

    model_config = SettingsConfigDict(env_prefix="HELIX_INGEST_", frozen=True, extra="forbid")

    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of the embedding models"
    )
    batch_size: int = Field(64, ge=1, le=512, description="events in work at once")
    copies: int = Field(
        1, ge=1, le=1_024, description="ingest processes of this machine, which share its cores"
    )
    lanes: int = Field(
        0, ge=0, le=64, description="embedding lanes, one thread each; 0: the cores divided by the copies"
    )
    vector_cache_bytes: int = Field(
        64 * MIB, ge=0, description="memory for vectors of texts seen lately: equal text is embedded once"
    )
    turn_cache_bytes: int = Field(
        16 * MIB, ge=0, description="memory for turns seen lately, which need not be read from the log again"
    )
    piece_tokens: int = Field(
        250, ge=32, le=8192, description="longest piece of a text in tokens; never above the model's limit"
    )

    def lanes_of(self, cores: int) -> int:
        """How many texts are embedded at once where `cores` may be used."""
        return self.lanes or max(1, cores // self.copies)

    def most_tokens(self, card: ModelCard) -> int:
        """Longest piece for one model."""
        return min(self.piece_tokens, card.max_tokens - SPECIAL_TOKENS)
