"""Which tenant lies in which shard: the number of shards, and the tenants that hashing would place elsewhere.

An operator changes the map while no writer of these shards runs. A writer reads it when it begins to write,
and every generation of a sharded instance holds it, for the query service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from helix_memory import limits
from helix_memory.sharding import MOST_SHARDS, hashed_shard
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARD_FILE: Final = "shard.json"
"""File of a generation with its `ShardPlace`; absent where there is one shard."""
_TENANT_TOKEN: Final = {"events": 3, "derived": 4, "access": 3}
"""Position of the tenant in a subject, by the third token of the subject."""

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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.starts) != self.shards or any(s >= self.shards for s in self.overrides.values()):
            raise ValueError("starts and overrides must be of the shards that exist")
        return self

    def shard_of(self, tenant_id: str) -> int:
        """The shard of a tenant."""
        found = self.overrides.get(tenant_id)
        return hashed_shard(tenant_id, self.shards) if found is None else found

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
        if self.is_only:
            return True
        tokens = subject.split(".")
        position = _TENANT_TOKEN.get(tokens[2], len(tokens)) if len(tokens) > 2 else len(tokens)  # noqa: PLR2004
        return position >= len(tokens) or self.owns(tokens[position])


ONLY_SHARD: Final = ShardPlace()
"""The one shard of an instance that has no others."""
