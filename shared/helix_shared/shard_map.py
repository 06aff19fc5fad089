"""The shard map: the number of shards, and the tenants that are not placed by hashing.

An operator changes the map while no writer of these shards runs. A writer reads it when it begins to write,
and every generation of a sharded instance holds it, for the query service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from helix_memory import limits
from helix_memory.sharding import MOST_SHARDS, hashed_shard
from helix_memory.subjects import is_token, tenant_of
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SHARD_FILE: Final = "shard.json"
"""File of a generation with its `ShardPlace`; absent where there is one shard."""

_Shard = Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
_Tenant = Annotated[str, Field(pattern=limits.TOKEN_PATTERN)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def encoded(self) -> bytes:
        """The value as JSON."""
        return self.model_dump_json().encode()

    @classmethod
    def decoded(cls, body: bytes) -> Self:
        """The inverse of `encoded`.

        Raises:
            CorruptArtifactError: it is no such value.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise CorruptArtifactError(f"shard map is damaged: {error.error_count()} errors") from error


class ShardMap(_Frozen):
    """The shards of an instance; without values there is one."""

    shards: int = Field(default=1, ge=1, le=MOST_SHARDS)
    starts: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    """By shard, the last sequence of HELIX_EVENTS before it existed: no event up to there is its own."""
    overrides: dict[_Tenant, _Shard] = {}
    """Tenants that lie elsewhere than `hashed_shard` says."""
    moved: dict[_Tenant, Annotated[int, Field(ge=0)]] = {}
    """By tenant that was moved, the last event that its shard got by the move, and not from its consumers."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.starts) != self.shards or any(s >= self.shards for s in self.overrides.values()):
            raise ValueError("starts and overrides must be of the shards that exist")
        return self

    def shard_of(self, tenant_id: str) -> int:
        """The shard of a tenant."""
        found = self.overrides.get(tenant_id)
        return hashed_shard(tenant_id, self.shards) if found is None else found

    def placing(self, tenant_id: str, shard: int) -> ShardMap:
        """The map with a tenant in `shard`, which has every event of the tenant from its consumers.

        Raises:
            InvalidInputError: there is no such shard, or the name is that of no tenant.
        """
        if not 0 <= shard < self.shards:
            raise InvalidInputError("--to", f"{shard} must be 0 to {self.shards - 1}")
        if not is_token(tenant_id):
            raise InvalidInputError("tenant", limits.TOKEN_RULE)
        overrides = {one: at for one, at in self.overrides.items() if one != tenant_id}
        if hashed_shard(tenant_id, self.shards) != shard:
            overrides[tenant_id] = shard
        moved = {one: at for one, at in self.moved.items() if one != tenant_id}
        return self.model_copy(update={"overrides": dict(sorted(overrides.items())), "moved": moved})

    def moving(self, tenant_id: str, shard: int, *, sequence: int) -> ShardMap:
        """The map with a tenant in `shard`, which got the events of the tenant up to `sequence` by the move.

        Raises: as `placing`.
        """
        placed = self.placing(tenant_id, shard)
        return placed.model_copy(
            update={"moved": dict(sorted({**placed.moved, tenant_id: sequence}.items()))}
        )

    def grown(self, shards: int, *, tenants: Iterable[str], log_end: int) -> ShardMap:
        """The map with more shards: `tenants` stay where they are, others are placed by hashing.

        `tenants` are all that have events up to `log_end`, the last sequence of HELIX_EVENTS.

        Raises:
            InvalidInputError: `shards` is less than there are, or more than there may be.
        """
        if not self.shards <= shards <= MOST_SHARDS:
            raise InvalidInputError("--shards", f"{shards} must be {self.shards} to {MOST_SHARDS}")
        if shards == self.shards:
            return self
        stays = {one: self.shard_of(one) for one in {*tenants, *self.overrides}}
        return ShardMap(
            shards=shards,
            starts=(*self.starts, *[log_end] * (shards - self.shards)),
            overrides={one: at for one, at in sorted(stays.items()) if hashed_shard(one, shards) != at},
            moved=self.moved,
        )


class ShardPlace(_Frozen):
    """One shard of a map."""

    shard: _Shard = 0
    map: ShardMap = ShardMap()

    @property
    def is_only(self) -> bool:
        """Whether there are no other shards."""
        return self.map.shards == 1

    @property
    def start(self) -> int:
        """The last sequence of HELIX_EVENTS before this shard existed."""
        return self.map.starts[self.shard]

    def owns(self, tenant_id: str) -> bool:
        """Whether a tenant lies in this shard."""
        return self.is_only or self.map.shard_of(tenant_id) == self.shard

    def owns_subject(self, subject: str) -> bool:
        """Whether the tenant that a subject names lies in this shard; one without a tenant is everybody's."""
        tenant = tenant_of(subject)
        return self.is_only or not tenant or self.owns(tenant)

    def has_by_move(self, subject: str, sequence: int) -> bool:
        """Whether the shard of an event's tenant got it by a move: it is carried out there."""
        return bool(self.map.moved) and sequence <= self.map.moved.get(tenant_of(subject), 0)


ONLY_SHARD: Final = ShardPlace()
"""The one shard of an instance that has no others."""


def folder_of_shard(data: Path, shard: int) -> Path:
    """The data folder of a shard, where `data` is that of the first."""
    return data / "shards" / str(shard) if shard else data


def first_folder(data: Path, shard: int) -> Path:
    """The data folder of the first shard, where `data` is that of `shard`; `data` where it lies elsewhere."""
    first = data.parent.parent
    return first if shard and folder_of_shard(first, shard) == data else data


def bucket_of_shard(bucket: str, shard: int) -> str:
    """The address of a shard in object storage, where `bucket` is that of the first; empty without one."""
    return f"{bucket.rstrip('/')}/shard-{shard}" if bucket and shard else bucket
