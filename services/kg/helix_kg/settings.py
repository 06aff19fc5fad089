"""Settings of kg, from variables with the prefix HELIX_KG_."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from helix_shared.settings import BrokerSettings


class KgSettings(BrokerSettings):
    """Settings of kg: broker and CPU only; the rules have no settings."""

    model_config = SettingsConfigDict(env_prefix="HELIX_KG_")
