"""Ids that people type: the first digits are enough where one memory of the caller has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from helix_cli.commands.common.hints import with_owner_hint
from helix_cli.output.terminal import note
from helix_memory import limits
from helix_shared.errors import HelixError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from helix_cli.home.addresses import Server
    from helix_memory.events import Event
    from helix_memory.recall.v1 import recall_pb2

_GIVEN: Final = re.compile(rf"[0-9a-fA-F]{{{limits.ID_PREFIX_DIGITS},{limits.ID_DIGITS}}}")
ENOUGH: Final = f"at least the first {limits.ID_PREFIX_DIGITS} hexadecimal digits of an id"
"""What a command takes for an id, in either case of letters."""
ID_FIELDS: Final = ("memory_id", "other")
ID_LISTS: Final = ("memory_ids", "helpful", "unhelpful")
"""Fields of events that name memories."""
_ASKED_FIELDS: Final = ("id", "prefix", "more_prefixes")
"""Fields of refusals that concern what was typed, and not for whom it is looked up."""


def is_short(given: str) -> bool:
    """Whether it is the beginning of an id and not a whole one."""
    return len(given) < limits.ID_DIGITS


def whole_ids(
    given: Sequence[str], scope: recall_pb2.Scope, server: Callable[[], Server], *, field: str = "id"
) -> list[str]:
    """`given`, which stand in `field`, with whole ids for beginnings of ids.

    `server` is asked only where there is one.

    Raises:
        NotFoundError: no memory of the scope has such an id.
        InvalidInputError: several have, or one of `given` is neither an id nor the beginning of one.
        TemporaryError: nothing answers.
    """
    for one in given:
        if _GIVEN.fullmatch(one) is None:
            raise InvalidInputError(field, f"{one!r} must be {ENOUGH}")
    whole = {one: one.lower() for one in given}
    if not (short := list(filter(is_short, whole))):
        return [whole[one] for one in given]
    from helix_cli.home.query_client import query_client  # noqa: PLC0415  gRPC is slow to import

    found = server()
    with query_client(found) as client:
        try:
            whole |= zip(short, client.whole_ids(scope, short), strict=True)
        except NotFoundError as error:
            raise with_owner_hint(error, scope) from error
        except InvalidInputError as error:
            if error.field not in _ASKED_FIELDS:
                raise
            raise InvalidInputError(field, error.reason) from error
    return [whole[one] for one in given]


def take_whole_ids(request: recall_pb2.RecallRequest, server: Server) -> None:
    """Let a recall name whole ids as already served.

    Raises: as `whole_ids`.
    """
    served = whole_ids(request.already_served, request.scope, lambda: server, field="--already-served")
    request.already_served[:] = served


def with_whole_ids(fields: dict[str, Any], server: Callable[[], Server]) -> dict[str, Any]:
    """The fields of an event with whole ids where they name memories of its tenant, user and access list.

    Raises: as `whole_ids`.
    """
    if not fields.keys() & {*ID_FIELDS, *ID_LISTS}:
        return dict(fields)
    found, scope = dict(fields), _scope_of(fields)
    for name in ID_FIELDS:
        if isinstance(found.get(name), str) and found[name]:
            [found[name]] = whole_ids([found[name]], scope, server, field=name)
    for name in ID_LISTS:
        listed = found.get(name)
        if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
            found[name] = whole_ids(listed, scope, server, field=name)
    return found


def ids_in(event: Event) -> list[str]:
    """The ids of memories that an event names, each once."""
    single = (getattr(event, name, "") for name in ID_FIELDS)
    listed = (one for name in ID_LISTS for one in getattr(event, name, ()))
    return list(dict.fromkeys(filter(None, (*single, *listed))))


def ids_of_no_memory(
    event: Event, server: Callable[[], Server], *, erased_at: int | None = None
) -> list[str] | None:
    """The ids in an event of which its user and access list have no memory, or none yet.

    With `erased_at`, the sequence of the event if it erases. None where it is not known: an event needs no
    query service, so none may be there, or it may not answer this caller.
    """
    from helix_cli.home.query_client import query_client  # noqa: PLC0415  as above
    from helix_memory.transport.recall_client import unknown_ids  # noqa: PLC0415  as above

    fields = {name: getattr(event, name, None) for name in ("tenant_id", "user_id", "acl")}
    try:
        found = server()
        with query_client(found) as client:
            states, applied_sequence = client.states(_scope_of(fields), ids_in(event))
    except HelixError:
        return None
    return unknown_ids(states, applied_sequence, erased_at=erased_at)


def note_ids_of_no_memory(ids: Sequence[str], kind: str, *, user: str, waited: bool) -> None:
    """Say which ids of an event of a kind name nothing, and what that means."""
    if kind == "erase":
        meaning = "what is on its way is still erased"
    else:
        meaning = "nothing was done about it" if waited else "--wait tells whether it was on its way"
    more = "" if user else "; without --user, memories of users are reached, too, but not looked up"
    note(f"no memory of this caller: {', '.join(ids)}; {meaning}{more}")


def _scope_of(fields: dict[str, Any]) -> recall_pb2.Scope:
    """Whose memories an event reaches; a field of a wrong type, which is refused later, counts as absent."""
    from helix_memory.recall.v1 import recall_pb2  # noqa: PLC0415  slow to import

    tenant, user, acl = fields.get("tenant_id"), fields.get("user_id"), fields.get("acl")
    return recall_pb2.Scope(
        tenant_id=tenant if isinstance(tenant, str) else "",
        user_id=user if isinstance(user, str) else "",
        principals=[one for one in acl if isinstance(one, str)] if isinstance(acl, list) else [],
    )
