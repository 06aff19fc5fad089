"""The options of a query and the request made of them, for the commands `recall` and `why-not`.

`with_query_options` gives a command all of them, so a new option is added here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from helix_cli.commands.common import options
from helix_cli.commands.common.option_group import with_options
from helix_cli.commands.completion import memory_types, ranking_profiles
from helix_cli.home.addresses import calls_with
from helix_cli.output.time_zone import moment, zone_of
from helix_memory import limits
from helix_memory.machine_zone import machine_zone
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from datetime import datetime, tzinfo


class Mode(StrEnum):
    """Which channels search for candidates."""

    DENSE = "dense"
    HYBRID = "hybrid"
    AUTO = "auto"


class ExpandContext(StrEnum):
    """What is packed beside a memory: values of the contract's ExpandContext by their CLI name."""

    UNSPECIFIED = "profile"
    NONE = "none"
    NEIGHBOURS = "neighbours"
    SESSION = "session"


User = Annotated[str, Option("--user", help="User that asks, who sees their private memories.")]
Principals = Annotated[list[str] | None, Option("--principal", help="Group or role of the caller.")]
Projects = Annotated[list[str] | None, Option("--project", help="Only this project.")]
OwnProject = Annotated[str, Option("--prefer-project", help="Project of the caller; ranks higher.")]
Sessions = Annotated[list[str] | None, Option("--session", help="Only this session.")]
Types = Annotated[
    list[str] | None, Option("--type", help="Only this memory type.", autocompletion=memory_types)
]
WithFlags = Annotated[
    list[str] | None,
    Option("--flag", help="Only memories flagged as instruction, secret or invisible."),
]
WithoutFlags = Annotated[
    list[str] | None,
    Option("--exclude-flag", help="Leave out memories flagged as instruction, secret or invisible."),
]
After = Annotated[str, Option("--after", help="Happened at or after, e.g. 2026-11-01.")]
Before = Annotated[str, Option("--before", help="Happened before.")]
TopK = Annotated[int | None, Option("--top-k", help="How many memories, 1 to 200.")]
Budget = Annotated[int | None, Option("--budget", help="Token budget of the packed context.")]
Profile = Annotated[str, Option("--profile", help="Ranking profile.", autocompletion=ranking_profiles)]
Channels = Annotated[Mode, Option("--mode", help="Which channels search.")]
AsOf = Annotated[str, Option("--as-of", help="Answer from what Helix knew then, e.g. 2026-11-01.")]
ValidAt = Annotated[
    str, Option("--valid-at", help="Answer from what had happened and held then, e.g. 2026-11-01.")
]
AlreadyServed = Annotated[list[str] | None, Option("--already-served", help="Id of a memory to leave out.")]
Expand = Annotated[
    ExpandContext, Option("--expand-context", help="What is packed beside memories where there is room.")
]
Zone = Annotated[
    str,
    Option(
        "--tz",
        help="Time zone of all dates, e.g. Europe/Berlin; by default that of this machine.",
    ),
]
IncludeProfile = Annotated[
    bool, Option("--include-profile", help="Pack the profile of the user before the memories.")
]
NeverSkip = Annotated[bool, Option("--never-skip", help="Search even if the question is small talk.")]


def scope_of(tenant: str, user: str, principals: Sequence[str] | None) -> recall_pb2.Scope:
    """Who asks.

    Raises:
        InvalidInputError: no tenant is named, and no credential of the environment has one.
    """
    if not tenant and calls_with(None) is None:
        raise InvalidInputError("--tenant", "is missing; name the tenant to ask, e.g. --tenant acme")
    return recall_pb2.Scope(tenant_id=tenant, user_id=user, principals=principals or [])


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
    flag: WithFlags = None,
    exclude_flag: WithoutFlags = None,
    after: After = "",
    before: Before = "",
    top_k: TopK = None,
    budget: Budget = None,
    profile: Profile = "",
    mode: Channels = Mode.HYBRID,
    as_of: AsOf = "",
    valid_at: ValidAt = "",
    already_served: AlreadyServed = None,
    expand_context: Expand = ExpandContext.UNSPECIFIED,
    tz: Zone = "",
    never_skip: NeverSkip = False,
    include_profile: IncludeProfile = False,
) -> recall_pb2.RecallRequest:
    """The request for these options; the server fills in what is not given.

    Raises:
        InvalidInputError: no tenant where no credential has one, a count out of bounds, no date where one is
            expected, an unknown zone, or a span of time that is empty.
    """
    scope = scope_of(tenant, user, principal)
    time_zone = tz or machine_zone()
    zone = zone_of(time_zone)
    earliest, end = span(after, before, zone)
    return recall_pb2.RecallRequest(
        scope=scope,
        query=_askable(question),
        filter=recall_pb2.Filter(
            types=memory_type or [],
            project_ids=project or [],
            session_ids=session or [],
            flags=flag or [],
            exclude_flags=exclude_flag or [],
            event_after=earliest,
            event_before=end,
        ),
        top_k=count("--top-k", top_k, limits.TOP_K),
        token_budget=count("--budget", budget, limits.TOKEN_BUDGET),
        ranking_profile=profile,
        mode=recall_pb2.Mode.Value(f"MODE_{mode.name}"),
        project_id=prefer_project,
        never_skip=never_skip,
        include_profile=include_profile,
        time_zone=time_zone,
        as_of=moment("--as-of", as_of, zone),
        valid_at=moment("--valid-at", valid_at, zone),
        already_served=already_served or [],
        expand_context=recall_pb2.ExpandContext.Value(f"EXPAND_CONTEXT_{expand_context.name}"),
    )


with_query_options = with_options("request", request_of)
"""Replaces the parameter `request` of a command by the arguments and options of `request_of`."""


def _askable(question: str) -> str:
    """The question, refused under the name of its argument where it is empty or too long.

    Raises:
        InvalidInputError: it is.
        UnicodeEncodeError: the shell gave bytes that are not UTF-8; `group` names them.
    """
    question.encode()
    try:
        return checks.query_text(question)
    except InvalidInputError as error:
        raise InvalidInputError("question", error.reason) from error


def span(after: str, before: str, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """The values of --after and --before.

    Raises:
        InvalidInputError: one is no date, or nothing lies between them.
    """
    earliest, end = moment("--after", after, zone), moment("--before", before, zone)
    if earliest and end and earliest >= end:
        raise InvalidInputError(
            "--after", f"{after} must be earlier than --before {before}, which is itself not included"
        )
    return earliest, end


def count(option: str, value: int | None, most: int) -> int | None:
    """The value of an option.

    Raises:
        InvalidInputError: it is not between 1 and `most`.
    """
    if value is not None and not 1 <= value <= most:
        raise InvalidInputError(option, f"{value} must be 1 to {most}")
    return value
