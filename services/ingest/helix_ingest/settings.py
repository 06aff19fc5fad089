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
"""Tokens reserved for the special tokens of the model and the name of the speaker."""


class IngestSettings(BrokerSettings):
    """Settings of the ingest service."""

    model_config = SettingsConfigDict(env_prefix="HELIX_INGEST_", frozen=True, extra="forbid")

    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of the embedding models"
    )
    batch_size: int = Field(64, ge=1, le=512, description="events in progress at once")
    copies: int = Field(
        1, ge=1, le=1_024, description="ingest processes on this machine; they share its cores"
    )
    lanes: int = Field(0, ge=0, le=64, description="embedding threads; 0: the cores divided by the copies")
    vector_cache_bytes: int = Field(
        64 * MIB, ge=0, description="cache of vectors of recent texts: equal text is embedded once"
    )
    turn_cache_bytes: int = Field(
        16 * MIB, ge=0, description="cache of recent turns, which are then not read from the log"
    )
    piece_tokens: int = Field(
        250, ge=32, le=8192, description="longest piece of a text in tokens; at most the limit of the model"
    )

    def lanes_of(self, cores: int) -> int:
        """How many texts are embedded at once on `cores` cores."""
        return self.lanes or max(1, cores // self.copies)

    def most_tokens(self, card: ModelCard) -> int:
        """Longest piece in tokens for a model."""
        return min(self.piece_tokens, card.max_tokens - SPECIAL_TOKENS)
