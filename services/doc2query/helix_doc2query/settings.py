"""Settings of doc2query, from variables with the prefix HELIX_DOC2QUERY_."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from helix_shared.settings import BrokerSettings


class Doc2querySettings(BrokerSettings):
    """Settings of doc2query: broker and CPU only; the rules have no settings."""

    model_config = SettingsConfigDict(env_prefix="HELIX_DOC2QUERY_")
