"""Settings of consolidation, prefix `HELIX_CONSOLIDATION_`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_memory.sharding import MOST_SHARDS
from helix_shared.artifacts.object_storage.opening import ADDRESSES
from helix_shared.artifacts.signals.vector_storage import StorageChoice
from helix_shared.artifacts.vectors.form import ScanChoice, VectorForm
from helix_shared.settings import BrokerSettings, helix_home
from helix_shared.shard_map import bucket_of_shard


class ConsolidationSettings(BrokerSettings):
    """Intervals, bounds and retention of the writer."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix="HELIX_CONSOLIDATION_")

    data_dir: Path = Field(
        default_factory=lambda: helix_home() / "data",
        description="data folder: the live stores, the generations and CURRENT",
    )
    shard: int = Field(
        0,
        ge=0,
        lt=MOST_SHARDS,
        description="shard that this process writes; every shard has a data folder of its own",
    )
    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models",
        description="folder of the embedding models; where nothing was ever published, its default model is "
        "that of the first generation, which is empty",
    )
    niceness: int = Field(
        5,
        ge=0,
        le=19,
        description="niceness of the process; lower than that of the workers, because there is one writer",
    )
    deadline_seconds: float = Field(
        1_800.0,
        gt=0,
        le=86_400,
        description="longest time for one piece of work on the stores; past it the process ends",
    )
    archive: bool = Field(
        default=True,
        description="write every event into `archive` of the data folder before it is applied",
    )
    archive_segment_bytes: int = Field(
        64 * 1024 * 1024,
        ge=4_096,
        le=1 << 40,
        description="size at which a segment of the archive is sealed",
    )
    publish_interval_seconds: float = Field(
        1.0, ge=0, le=600, description="minimum time between two generations"
    )
    backlog_interval_seconds: float = Field(
        10.0,
        ge=0,
        le=600,
        description="maximum time between two generations in a backlog; grows with the number of events",
    )
    batch_messages: int = Field(512, ge=1, le=4_096, description="messages of one stream in a batch")
    apply_interval_seconds: float = Field(
        0.25,
        ge=0,
        le=5,
        description="minimum time between two batches, unless one is full; small ones cost more per message",
    )
    collect_seconds: float = Field(
        0.02, gt=0.01, le=5, description="after a first message, longest wait for others to fetch with it"
    )
    held_messages: int = Field(
        8_192, ge=1, le=32_768, description="messages of one stream held until they are published"
    )
    keep_generations: int = Field(
        3, ge=1, le=1_000, description="number of newest generations that are never retired"
    )
    keep_seconds: float = Field(
        60.0, ge=0, le=86_400, description="age below which a generation is never retired"
    )
    maintain_every: int = Field(
        8, ge=1, le=100_000, description="generations between two maintenance runs of the vector table"
    )
    idle_maintenance_seconds: float = Field(
        1.5, gt=0, le=3_600, description="time without changes after which the vector table is maintained"
    )
    vector_storage: StorageChoice = Field(
        "auto",
        description="number type of a stored vector; auto: by size; a store becomes narrower, never wider",
    )
    vector_scan: ScanChoice = Field(
        "auto",
        description="vector index: scalar (IVF-SQ), binary (IVF-RQ), product (IVF-PQ); auto: by size",
    )
    scan_dimensions: int = Field(
        0,
        ge=0,
        le=8_192,
        description="dimensions scanned of a vector, which the card of the model must declare "
        "(`helix models import --matryoshka`); 0: all",
    )
    sweep_seconds: float = Field(60.0, gt=0, le=3_600, description="time between two sweeps for expired rows")
    access_interval_seconds: float = Field(
        30.0, ge=0, le=3_600, description="time between two applications of what the forwarder published"
    )
    decay_after_days: float = Field(
        0.0,
        ge=0,
        le=36_500,
        description="hide weak, unused episodic memories this long after creation or last access, counted to "
        "the newest event of the tenant; 0: never",
    )
    decay_most_salience: float = Field(
        0.2, ge=0, le=1, description="decay: a more salient memory is not hidden"
    )
    decay_most_accesses: int = Field(
        0, ge=0, le=1_000_000, description="decay: a memory that was served more often is not hidden"
    )
    reconcile_hour: int = Field(
        3, ge=-1, le=23, description="hour of the day (UTC) in which log and stores are compared; -1: never"
    )
    bucket: str = Field(
        "",
        pattern=ADDRESSES,
        description="object storage to which every generation is uploaded, for replicas elsewhere: "
        "s3://bucket/prefix, gs://, az://, file:///folder or nats://host:port/prefix; one prefix a data "
        "folder: later shards than the first add `/shard-1` and so on; empty: none",
    )
    bucket_keep_generations: int = Field(
        3, ge=1, le=1_000, description="number of newest generations that always stay in the bucket"
    )
    bucket_grace_seconds: float = Field(
        900.0,
        ge=10,
        le=30 * 86_400,
        description="age at which what no kept generation names leaves the bucket; a replica must pull a "
        "generation within it",
    )
    bucket_collect_seconds: float = Field(
        60.0, gt=0, le=86_400, description="time between two collections of what the bucket does not keep"
    )
    gap_seconds: float = Field(
        2.0, gt=0, le=600, description="time after which a missing sequence is looked up in its stream"
    )

    @property
    def own_bucket(self) -> str:
        """The bucket with the prefix of this shard; empty: none."""
        return bucket_of_shard(self.bucket, self.shard)

    @property
    def vector_form(self) -> VectorForm:
        """The settings of vectors as one value."""
        return VectorForm(self.vector_storage, self.vector_scan, self.scan_dimensions)
