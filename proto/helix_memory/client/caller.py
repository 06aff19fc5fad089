"""For whom a client speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2


class Caller:
    """The caller of a client, which `Helix.acting_as` changes."""

    _scope: recall_pb2.Scope

    @property
    def tenant(self) -> str:
        """The tenant."""
        return self._scope.tenant_id

    @property
    def user(self) -> str:
        """The user; empty: none."""
        return self._scope.user_id

    @property
    def principals(self) -> tuple[str, ...]:
        """Groups and roles."""
        return tuple(self._scope.principals)
