"""Keyword arguments that several methods of the client take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, TypedDict

from helix_memory.client.results import Memory, Written
from helix_memory.vocabulary.memory_types import MemoryType
from helix_memory.vocabulary.speech_acts import Flag

MemoryRef = str | Memory | Written
"""A memory: its id, the memory itself, or what the write that made it returned."""
Mode = Literal["hybrid", "dense", "auto"]
ExpandContext = Literal["none", "neighbours", "session"]


class AccessOptions(TypedDict, total=False):
    """Credentials of a client. Secrets come from files with mode 0600."""

    token: str
    """Of the query service; better `token_file`."""
    token_file: str | Path
    """Read at every call, so that a new token in it counts at once."""
    tls: bool
    """Encrypt the calls to the query service; trust the CAs of this machine unless `ca_file` is given."""
    ca_file: str | Path
    """CA of the query service, and of NATS if `nats_credentials` is given; implies TLS."""
    cert_file: str | Path
    """Own certificate, where the query service wants one (mTLS)."""
    key_file: str | Path
    """Its key."""
    nats_credentials: str | Path
    """File with one line `user:password`, as `helix security init` makes it."""


class WriteOptions(TypedDict, total=False):
    """How an event is written."""

    event_id: str
    """Own id of the event, 1 to 128 printable ASCII characters; a repeated one changes nothing. By default a
    random id, which the client keeps while it tries again."""
    occurred_at: datetime
    """When it happened, with a time zone, in which "yesterday" in its text is understood. By default now."""
    wait: bool
    """Return when the event is processed and can be recalled; an event that is refused raises then."""


class ScopeOptions(TypedDict, total=False):
    """What an event belongs to and who may recall what it makes."""

    user: str
    """Whose private memory it becomes; by default the user of the client."""
    project: str
    """By default the project of the client."""
    shared: bool
    """Every user of the tenant may recall it."""
    acl: Sequence[str]
    """Only callers with one of these principals may recall it, at most 64."""
    tags: Sequence[str]
    """Labels, at most 32."""


class EventOptions(WriteOptions, ScopeOptions, total=False):
    """What an event of its own takes."""

    session: str
    """Conversation or run: a token of letters, digits, - and _, at most 64 characters."""


class MemoryOptions(TypedDict, total=False):
    """What a memory says about itself. Helix chooses what is absent; a correction keeps it."""

    type: MemoryType
    title: str
    """Name of the thing that the text defines, at most 1,000 characters."""
    salience: float
    """Importance, 0 to 1."""
    confidence: float
    """0 to 1."""
    pinned: bool
    """Boosted, and never hidden by decay."""
    priority: float
    """Multiplier of relevance, 1 to 2."""
    valid_from: datetime
    valid_to: datetime
    expires_at: datetime
    event_start: datetime
    """When the described event begins."""
    event_end: datetime
    """First moment after the described event."""


class RememberOptions(EventOptions, MemoryOptions, total=False):
    """What `remember` takes."""


class ActorOptions(WriteOptions, total=False):
    """For whom an event about memories acts: it reaches those that a recall for these could return."""

    user: str
    """By default the user of the client; without a user it acts for the whole tenant."""
    acl: Sequence[str]
    """Principals, at most 64; by default those of the client."""


class CorrectOptions(ActorOptions, MemoryOptions, total=False):
    """What `correct` takes. Who may recall the memory does not change."""

    session: str
    """By default that of the memory."""
    project: str
    """By default that of the memory, not of the client."""
    tags: Sequence[str]
    """Labels in place of those of the memory, at most 32."""


class SelectOptions(ActorOptions, total=False):
    """Which memories are meant where none is named: all of exactly one of these."""

    of_session: str
    of_document: str
    of_user: str


class FilterOptions(TypedDict, total=False):
    """Restricts memories; an absent field does not restrict. At most 64 entries each."""

    types: Sequence[MemoryType]
    projects: Sequence[str]
    sessions: Sequence[str]
    event_after: datetime
    """Event time at or after this moment; when it happened, where the text names no time."""
    event_before: datetime
    """Event time before this moment."""
    flags: Sequence[Flag]
    """Only memories with one of these flags."""
    exclude_flags: Sequence[Flag]
    """Only memories with none of these flags."""


class PageOptions(TypedDict, total=False):
    """Which page of a list."""

    page_size: int
    """Entries of the page at most, 1 to 200; by default 50."""
    page_token: str
    """`next_page_token` of the page before; by default the first page."""
    after: Written | Iterable[Written]
    """As in `recall`."""
    deadline_seconds: float
    """By default that of the client."""


class ListOptions(FilterOptions, PageOptions, total=False):
    """What `list` takes."""

    speakers: Sequence[str]
    """Only what one of these said, whatever the case of letters; "" is what has no speaker. At most 64."""
    texts: Sequence[str]
    """Only what says just one of these, whatever the case of letters and the white space; at most 200."""
    order: Literal["newest", "oldest"]
    """"newest" by default: what happened last comes first."""
    as_of: datetime
    """The list from what Helix knew then."""
    valid_at: datetime
    """The list of what had happened and held then."""


class TimelineOptions(PageOptions, total=False):
    """What `timeline` takes: a memory, or a session, a span or both."""

    around: MemoryRef
    """The memory in the middle."""
    session: str
    since: datetime
    until: datetime


class RecallOptions(FilterOptions, total=False):
    """What `recall`, `why` and `why_not` take."""

    top_k: int
    """Number of memories, 1 to 200; by default that of the ranking profile (10)."""
    token_budget: int
    """Tokens of the packed context, 1 to 100,000; by default that of the ranking profile (2,000)."""
    ranking_profile: str
    mode: Mode
    """Which channels search; "hybrid" by default."""
    prefer_project: str
    """Ranks higher in some ranking profiles; by default the project of the client."""
    as_of: datetime
    """Answer from what Helix knew then."""
    valid_at: datetime
    """Answer from what had happened and held then."""
    already_served: Iterable[MemoryRef]
    """Memories to leave out, at most 1,000."""
    expand_context: ExpandContext
    """What is packed around the memories where there is room."""
    include_profile: bool
    """Pack the profile of the user before the memories."""
    never_skip: bool
    """Search even if the question is small talk."""
    not_served: bool
    """Nobody reads the answer, or a person looks at it: its memories do not count as used."""
    after: Written | Iterable[Written]
    """Read your writes: wait for these while the deadline allows; `Recalled.stale`: they are not in."""
    deadline_seconds: float
    """By default that of the client."""
