"""Settings of kg, from variables with the prefix HELIX_KG_."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from helix_shared.settings import BrokerSettings


class KgSettings(BrokerSettings):
    """What an operator may set; all of it concerns the broker and the cores, the rules have no knobs."""

    model_config = SettingsConfigDict(env_prefix="HELIX_KG_")
