"""Settings of the query service: `HELIX_QUERY_*`, read once in `create_app`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_shared.settings import ServiceSettings, helix_home

CALLS_PER_CORE: Final = 32
"""At 30 recalls a second and core the last in the queue is answered in half of the deadline."""
MOST_CALLS: Final = 1024


def cores() -> int:
    """Cores this process may run on, at most 64."""
    return min(len(os.sched_getaffinity(0)), 64)


class QuerySettings(ServiceSettings):
    """Everything an operator may turn; ranking constants stand in ranking profiles instead."""

    model_config = SettingsConfigDict(env_prefix="HELIX_QUERY_", frozen=True, extra="forbid")

    data_dir: Path = Field(
        default_factory=lambda: helix_home() / "data", description="folder of generations and CURRENT"
    )
    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of installed models"
    )
    cache_dir: Path = Field(
        default_factory=lambda: helix_home() / "cache", description="folder of the receipt of verified files"
    )
    trust_verified_files: bool = Field(
        default=True,
        description="files verified before and not written since are not hashed at a start; false: all are",
    )
    profiles_dir: Path | None = Field(None, description="folder of further ranking profiles (*.toml)")
    listen: str = Field(
        "127.0.0.1:7461", pattern=r"^\S+:\d{1,5}$", description="host:port; there is no authentication"
    )
    instance: str = Field(
        "", max_length=128, description="name of this instance in GetStatus; `helix up` makes one"
    )
    metrics_port: int = Field(0, ge=0, le=65535, description="Prometheus port on 127.0.0.1; 0: none")
    threads: int = Field(
        default_factory=cores, ge=1, le=64, description="recalls worked on at once; by default one a core"
    )
    encoder_threads: int = Field(1, ge=1, le=16, description="threads of one query's embedding")
    in_flight: int = Field(
        default_factory=lambda: min(CALLS_PER_CORE * cores(), MOST_CALLS),
        ge=1,
        le=MOST_CALLS,
        description="calls accepted at once, in work or waiting, 32 a core; more are refused",
    )
    deadline_seconds: float = Field(2.0, gt=0, le=60, description="longest a call may take")
    channel_deadline_seconds: float = Field(0.25, gt=0, le=60, description="longest a channel may take")
    stuck_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="a thread that runs so long past its call's deadline is replaced and counts as stuck",
    )
    poll_seconds: float = Field(0.25, gt=0, le=60, description="how often CURRENT is looked at")
    grace_seconds: float = Field(5.0, ge=0, le=60, description="how long running calls may finish at the end")
