"""Settings of doc2query, from variables with the prefix HELIX_DOC2QUERY_."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_shared.settings import BrokerSettings


class Doc2querySettings(BrokerSettings):
    """Settings of doc2query; the rules have none, a T5 model is used where its folder is named."""

    model_config = SettingsConfigDict(env_prefix="HELIX_DOC2QUERY_")

    model_dir: Path | None = Field(
        None,
        description="folder of a T5 model in ONNX that predicts questions; none: the rules alone",
    )
    model_questions: int = Field(
        3, ge=1, le=8, description="questions of the T5 model by memory: the beams of its search; 1: greedy"
    )
    model_question_tokens: int = Field(32, ge=4, le=128, description="longest question of the T5 model")
    model_text_tokens: int = Field(
        256, ge=16, le=1_024, description="tokens of a memory that the T5 model reads"
    )
    model_prefix: str = Field(
        "", max_length=64, description="text before each memory, where the T5 model was trained with one"
    )
