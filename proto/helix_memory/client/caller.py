"""For whom a client speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from helix_memory.client import messages
from helix_memory.errors import InvalidInputError
from helix_memory.machine_zone import machine_zone
from helix_memory.recall import checks

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2


class Caller:
    """The caller of a client, which `Helix.acting_as` changes."""

    _scope: recall_pb2.Scope
    _project: str
    _time_zone: str
    _zone: ZoneInfo | None

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

    def _speak_for(self, tenant: str, user: str, principals: Sequence[str], project: str) -> None:
        self._scope = messages.scope_of(tenant, user, principals)
        self._project = checks.name("project", project)

    def _keep_time_of(self, time_zone: str | None) -> None:
        """Take the zone of this name; None: that of the machine."""
        self._zone = _zone(time_zone)
        self._time_zone = machine_zone() if time_zone is None else time_zone


def _zone(time_zone: str | None) -> ZoneInfo | None:
    """The zone of this name; None: that of the machine."""
    if time_zone is None:
        return None
    checks.text("time_zone", time_zone)
    try:
        return ZoneInfo(time_zone or "UTC")
    except (KeyError, ValueError, OSError) as error:
        reason = f"{time_zone!r} is not in the IANA database of this machine; write it like Europe/Berlin"
        raise InvalidInputError("time_zone", reason) from error
