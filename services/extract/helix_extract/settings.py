"""Settings of extract; every variable starts with `HELIX_EXTRACT_`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_extract.windows.window import WindowLimits
from helix_shared.endpoint.settings import EndpointSettings
from helix_shared.settings import BrokerSettings, helix_home


class ExtractSettings(EndpointSettings, BrokerSettings):
    """The language model, what may be spent on it, and the windows."""

    model_config = SettingsConfigDict(env_prefix="HELIX_EXTRACT_", frozen=True, extra="forbid")

    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of the embedding models"
    )
    window_characters: int = Field(2_000, ge=1, le=100_000, description="characters that fill a window")
    window_turns: int = Field(10, ge=1, le=100, description="turns that fill a window")
    window_seconds: float = Field(
        30.0, gt=0, le=3_600, description="time after the first turn at which a window closes"
    )
    oldest_days: float = Field(
        7.0,
        ge=0,
        description="older turns are not asked about; recorded answers are repeated at any age; 0: no limit",
    )
    batch_size: int = Field(256, ge=1, le=1_024, description="turns waiting or in progress at once")
    max_output_tokens: int = Field(2_000, ge=64, le=65_536, description="longest answer")
    pairs: bool = Field(
        default=True, description="also ask about pairs of memories where the rules for relations are unsure"
    )
    pairs_at_once: int = Field(8, ge=1, le=64, description="pairs of one owner in one question")
    pairs_seconds: float = Field(
        10.0, gt=0, le=600, description="longest wait for further pairs before they are asked about"
    )
    daily_tokens: int = Field(
        200_000, ge=0, description="tokens a day (UTC) and tenant; then only the rules work; 0: no limit"
    )

    @property
    def limits(self) -> WindowLimits:
        """When a window is complete."""
        return WindowLimits(self.window_characters, self.window_turns, self.window_seconds)
