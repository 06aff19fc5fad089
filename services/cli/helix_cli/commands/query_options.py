"""The options of a question, shared by the commands that ask one, and the request they make.

`asks` gives a command all of them, so a new option is named here alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import wraps
from itertools import takewhile
from typing import Annotated, Any

from typer import Argument, Option

from helix_cli.commands import options
from helix_cli.output.time_zone import machine_zone, zone_of
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError


class Mode(StrEnum):
    """Which channels look for candidates."""

    DENSE = "dense"
    HYBRID = "hybrid"
    AUTO = "auto"


class Around(StrEnum):
    """What is packed around memories."""

    UNSPECIFIED = "profile"
    NONE = "none"
    NEIGHBOURS = "neighbours"
    SESSION = "session"


User = Annotated[str, Option("--user", help="Sees this user's memories, too.")]
Principals = Annotated[list[str] | None, Option("--principal", help="Group or role of the caller.")]
Projects = Annotated[list[str] | None, Option("--project", help="Only of this project.")]
OwnProject = Annotated[str, Option("--prefer-project", help="The project asked from.")]
Sessions = Annotated[list[str] | None, Option("--session", help="Only of this session.")]
Types = Annotated[list[str] | None, Option("--type", help="Only of this memory type.")]
After = Annotated[str, Option("--after", help="Happened at or after, e.g. 2026-11-01.")]
Before = Annotated[str, Option("--before", help="Happened before.")]
TopK = Annotated[int | None, Option("--top-k", help="How many memories, 1 to 200.")]
Budget = Annotated[int | None, Option("--budget", help="Tokens of the packed context.")]
Profile = Annotated[str, Option("--profile", help="Ranking profile.")]
Channels = Annotated[Mode, Option("--mode", help="Which channels look.")]
AsOf = Annotated[str, Option("--as-of", help="As it was known then, e.g. 2026-11-01.")]
Served = Annotated[list[str] | None, Option("--served", help="Id of a memory you have already.")]
PackedAround = Annotated[
    Around, Option("--around", help="What is packed around memories where there is room.")
]
Zone = Annotated[
    str,
    Option(
        "--tz",
        help="Time zone of all dates, e.g. Europe/Berlin; by default that of this machine.",
    ),
]
NeverSkip = Annotated[bool, Option("--never-skip", help="Look even for small talk.")]


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the arguments and options of `request_of` in place of its parameter `request`."""
    asked = inspect.signature(request_of, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters
    before = list(takewhile(lambda name: name != "request", own))
    behind = [own[name] for name in own if name not in (*before, "request")]

    @wraps(command)
    def asking(**given: Any) -> None:
        request = request_of(**{name: given.pop(name) for name in asked})
        command(request=request, **given)

    together = [*(own[name] for name in before), *asked.values(), *behind]
    asking.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined] # typer reads it
    # a name is looked up once more where typer asks for hints; those of `command` know no question
    asking.__annotations__ = {one.name: one.annotation for one in together}
    del asking.__wrapped__
    return asking


def request_of(
    question: Annotated[str, Argument(help="The question, in your own words.")],
    *,
    tenant: options.Tenant = "",
    user: User = "",
    principal: Principals = None,
    project: Projects = None,
    prefer_project: OwnProject = "",
    session: Sessions = None,
    memory_type: Types = None,
    after: After = "",
    before: Before = "",
    top_k: TopK = None,
    budget: Budget = None,
    profile: Profile = "",
    mode: Channels = Mode.HYBRID,
    as_of: AsOf = "",
    served: Served = None,
    around: PackedAround = Around.UNSPECIFIED,
    tz: Zone = "",
    never_skip: NeverSkip = False,
) -> recall_pb2.RecallRequest:
    """The request of these options; what is not said is left to the server.

    Raises:
        InvalidInputError: no tenant, a count below 1, no date where one is expected, or an unknown zone.
    """
    if not tenant:
        raise InvalidInputError("--tenant", "is missing; say whose memory to ask, e.g. --tenant acme")
    time_zone = tz or machine_zone()
    zone = zone_of(time_zone)
    return recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id=tenant, user_id=user, principals=principal or []),
        query=question,
        filter=recall_pb2.Filter(
            types=memory_type or [],
            project_ids=project or [],
            session_ids=session or [],
            event_after=moment("--after", after, zone),
            event_before=moment("--before", before, zone),
        ),
        top_k=_count("--top-k", top_k),
        token_budget=_count("--budget", budget),
        ranking_profile=profile,
        mode=recall_pb2.Mode.Value(f"MODE_{mode.name}"),
        project_id=prefer_project,
        never_skip=never_skip,
        time_zone=time_zone,
        as_of=moment("--as-of", as_of, zone),
        already_served=served or [],
        expand_context=recall_pb2.ExpandContext.Value(f"EXPAND_CONTEXT_{around.name}"),
    )


def moment(option: str, text: str, zone: tzinfo) -> datetime | None:
    """The moment an option names; a date is its first moment, and of `zone` unless it says otherwise.

    Raises:
        InvalidInputError: it is no ISO date or time.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(option, f"{text!r} must read like 2026-11-01 or 2026-11-01T09:30") from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)


def _count(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise InvalidInputError(option, f"{value} must be at least 1")
    return value
