"""Settings of the query service: `HELIX_QUERY_*`, read once in `create_app`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_memory import limits
from helix_memory.transport.credentials import NatsCredentials
from helix_shared.artifacts.object_storage.opening import ADDRESSES
from helix_shared.rpc.access.settings import AccessSettings
from helix_shared.settings import helix_home

CALLS_PER_CORE: Final = 32
"""At 30 recalls a second and core, the last of so many is answered in half of the deadline."""
MAX_CALLS: Final = 1024


def cores() -> int:
    """Number of cores this process may use, at most 64."""
    return min(len(os.sched_getaffinity(0)), 64)


class QuerySettings(AccessSettings):
    """All settings of an operator; ranking constants are in ranking profiles."""

    model_config = SettingsConfigDict(env_prefix="HELIX_QUERY_", frozen=True, extra="forbid")

    data_dir: Path = Field(
        default_factory=lambda: helix_home() / "data", description="folder of generations and CURRENT"
    )
    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of installed models"
    )
    cache_dir: Path = Field(
        default_factory=lambda: helix_home() / "cache",
        description="folder of the list of verified files and of embedded examples",
    )
    trust_verified_files: bool = Field(
        default=True,
        description="do not hash files again that were verified before and not written since",
    )
    probe_generations: bool = Field(
        default=True,
        description="open and search each generation in another process first (230 MB): one that crashes a "
        "native library is refused",
    )
    profiles_dir: Path | None = Field(None, description="folder with more ranking profiles (*.toml)")
    listen: str = Field("127.0.0.1:7461", pattern=r"^\S+:\d{1,5}$", description="host:port of recalls")
    instance: str = Field(
        "", max_length=128, description="name of this instance in GetStatus; `helix up` sets it"
    )
    access_listen: str = Field(
        "",
        pattern=r"^(|\S+:\d{1,5}|unix:\S+)$",
        description="host:port or unix:path where a forwarder reads what was served; names memories of all "
        "tenants; empty: accesses are not recorded",
    )
    access_ring: int = Field(
        10_000,
        ge=1,
        le=1_000_000,
        description="accesses kept for the forwarder; beyond it the oldest is lost",
    )
    audit_ring: int = Field(
        10_000,
        ge=0,
        le=1_000_000,
        description="audit records kept for the forwarder; beyond it the oldest is lost; 0: none are made",
    )
    metrics_port: int = Field(0, ge=0, le=65535, description="Prometheus port; 0: none")
    threads: int = Field(
        default_factory=cores, ge=1, le=64, description="recalls computed at once; default: one a core"
    )
    encoder_threads: int = Field(1, ge=1, le=16, description="threads that embed one query")
    in_flight: int = Field(
        default_factory=lambda: min(CALLS_PER_CORE * cores(), MAX_CALLS),
        ge=1,
        le=MAX_CALLS,
        description="calls that run or wait at once; more are refused; default: 32 a core",
    )
    tenant_in_flight: int = Field(
        0,
        ge=0,
        le=MAX_CALLS,
        description="calls of one tenant that run or wait at once; 0: no own limit",
    )
    tenant_rate: float = Field(
        0.0, ge=0, le=100_000, description="recalls a second of one tenant in the long run; 0: no limit"
    )
    tenant_burst: int = Field(
        50, ge=1, le=100_000, description="recalls that a tenant may make at once before the rate holds"
    )
    deadline_seconds: float = Field(2.0, gt=0, le=60, description="maximum duration of a call")
    channel_deadline_seconds: float = Field(
        0.25, gt=0, le=60, description="maximum duration of a channel search"
    )
    stuck_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="a thread that runs this long past its deadline is replaced and counts as stuck",
    )
    poll_seconds: float = Field(0.25, gt=0, le=60, description="interval at which CURRENT is read")
    shards: str = Field(
        "",
        pattern=r"^(|\d{1,2}(,\d{1,2})*)$",
        description="shards that this process serves, with commas: the data folder of shard 0 is DATA_DIR, "
        "of a later one shards/1 and so on below it; in the bucket shard-1; empty: the one shard of DATA_DIR",
    )
    shards_memory_mib: int = Field(
        1024,
        ge=16,
        le=1 << 20,
        description="memory of all loaded shards, of a process with several: the one that was not asked for "
        "the longest is evicted; model and process take about 400 MiB more",
    )
    shard_idle_seconds: float = Field(
        900.0, ge=0, le=1e6, description="a shard that nobody asked for this long is evicted; 0: none is"
    )
    bucket: str = Field(
        "",
        pattern=ADDRESSES,
        description="object storage from which this replica pulls generations into its data folder, which no "
        "writer uses: s3://bucket/prefix, gs://, az://, file:///folder or nats://host:port/prefix; empty: it "
        "only reads the folder",
    )
    bucket_credentials_file: Path | None = Field(
        None, description="file with one line user:password for a bucket in NATS, mode 0600"
    )
    bucket_ca_file: Path | None = Field(
        None, description="CA (PEM) of the NATS server of the bucket: connect with TLS, handshake first"
    )
    bucket_poll_seconds: float = Field(
        0.5, gt=0, le=600, description="interval at which the pointer in the bucket is read"
    )
    grace_seconds: float = Field(5.0, ge=0, le=60, description="time for running calls to finish at shutdown")

    @property
    def bucket_credentials(self) -> NatsCredentials:
        """The user of a bucket in NATS."""
        return NatsCredentials(self.bucket_credentials_file, self.bucket_ca_file)

    @property
    def shard_numbers(self) -> tuple[int, ...]:
        """The shards that this process serves; empty: the one of the data folder."""
        return tuple(sorted({int(one) for one in self.shards.split(",") if one}))

    @property
    def batch_recalls(self) -> int:
        """Most recalls of one batch: a larger one would never find slots for all of them."""
        return min(limits.BATCH_RECALLS, self.in_flight, self.tenant_in_flight or limits.BATCH_RECALLS)
