"""The client for plain programs: a method returns when it is done. `async_helix` has the same for asyncio."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Self, Unpack

from helix_memory import limits
from helix_memory.client import arguments, messages
from helix_memory.client.caller import Caller
from helix_memory.client.changing import Changing
from helix_memory.client.event_writer import EventWriter
from helix_memory.client.explaining import Explaining
from helix_memory.client.listing import Listing
from helix_memory.client.options import (
    AccessOptions,
    MemoryRef,
    RecallOptions,
    ScopeOptions,
)
from helix_memory.client.remembering import Remembering
from helix_memory.client.results import Profile, Recalled, StoredMemory, Written
from helix_memory.client.session import Session
from helix_memory.errors import InvalidInputError
from helix_memory.events import LIFECYCLE_KINDS, NO_MEMORY_KINDS
from helix_memory.identity import memory_id as first_memory_of
from helix_memory.machine_zone import local_now
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient

NATS_PORT: Final = 4222
QUERY_PORT: Final = 7461
"""Ports of `helix up` where they are free."""
ATTEMPTS: Final = 5
"""Of a call to the query service that is too busy or does not answer, within the deadline."""
_ABOUT_MEMORIES: Final = (*LIFECYCLE_KINDS, "correct")
"""Kinds of events about memories that exist."""


class Helix(Caller, Remembering, Changing, Listing, Explaining):
    """Remembers and recalls for one caller: a tenant, and a user of it.

        with Helix("127.0.0.1", tenant="acme", user="ana") as helix:
            note = helix.remember("We deploy on Tuesdays.")
            print(helix.recall("when do we deploy?", after=note).context)

    Every write takes `wait=True`; else give what it returned to `recall(after=...)`, or to nobody: the memory
    can be recalled a second or two later. Input is checked before anything is sent. Writes are sent again
    with the same id until the log acknowledges them, reads are tried again, both until the deadline. It
    connects at the first call, may be used from many threads, and is not to be used after a fork.

    Every method raises:
        InvalidInputError: an argument breaks a limit, or with `wait` a service refused it; names the field.
        OverloadedError: Helix is full or too busy; try again after `delay_seconds`.
        OverdueError: the deadline passed. A write may be stored; repeat it with the event id of the error.
        TemporaryError: nothing answers; or a read without `after` of a Helix that has no generation: its
            writer has not started, or has a log to apply first.
        PermanentError: anything else that is refused, and each call of a closed client.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        *,
        tenant: str = "default",
        user: str = "",
        principals: Sequence[str] = (),
        project: str = "",
        time_zone: str | None = None,
        nats_port: int = NATS_PORT,
        query_port: int = QUERY_PORT,
        nats_url: str | None = None,
        query_address: str | None = None,
        deadline_seconds: float = 10.0,
        wait_seconds: float = 60.0,
        **access: Unpack[AccessOptions],
    ) -> None:
        """Name the server and the caller.

        Args:
            host: where `helix up` runs, without scheme and port.
            tenant: the isolation boundary, a token of letters, digits, - and _, at most 64 characters.
            user: whose private memories are written and recalled; empty: what belongs to no user.
            principals: groups and roles of the caller, at most 64.
            project: of what is written; some ranking profiles prefer it.
            time_zone: an IANA name, of "yesterday" in a text and of the dates in a context; by default that
                of this machine.
            nats_port: of the log.
            query_port: of the query service.
            nats_url: of the log, where it has a host of its own, like nats://log:4222; None or empty: `host`
                and `nats_port`, which count only then.
            query_address: of the query service, where it has a host of its own, like query:7461; of several
                shards all of theirs, in order, with commas; of several replicas of one shard with `|`. None
                or empty: `host` and `query_port`.
            deadline_seconds: of one call.
            wait_seconds: of `wait`.
            **access: token, TLS and the user of NATS (`AccessOptions`), where Helix checks callers.

        Raises:
            InvalidInputError: a value breaks its limit.
        """
        self._speak_for(tenant, user, principals, project)
        self._keep_time_of(time_zone)
        self._deadline_seconds = arguments.seconds("deadline_seconds", deadline_seconds)
        self._wait_seconds = arguments.seconds("wait_seconds", wait_seconds)
        machine = messages.host_of(host)
        log = checks.text("nats_url", "" if nats_url is None else nats_url)
        query = checks.text("query_address", "" if query_address is None else query_address)
        calls, nats = messages.credentials_of(access)
        self._writer = EventWriter(log or f"nats://{machine}:{arguments.port('nats_port', nats_port)}", nats)
        self._reader = RecallClient(
            query or f"{machine}:{arguments.port('query_port', query_port)}",
            call_seconds=deadline_seconds,
            attempts=ATTEMPTS,
            credentials=calls,
        )

    def acting_as(
        self,
        *,
        tenant: str = "default",
        user: str = "",
        principals: Sequence[str] = (),
        project: str = "",
        time_zone: str | None = None,
        token: str | None = None,
    ) -> Self:
        """A client for another caller over the same connections; closing either closes both.

        Without `time_zone` and `token` it keeps those of this client; the token "" means none at all.

        Raises:
            InvalidInputError: a value breaks its limit, or the token would cross the network in the clear.
        """
        other = copy.copy(self)
        other._speak_for(tenant, user, principals, project)  # noqa: SLF001  of this class
        if time_zone is not None:
            other._keep_time_of(time_zone)  # noqa: SLF001  likewise
        if token is not None:
            other._reader = self._reader.with_token(checks.text("token", token))  # noqa: SLF001  likewise
        return other

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recalled:
        """The memories that answer a query of at most 4,096 characters, and the same packed for a prompt."""
        request = self._request(query, options)
        return Recalled.of(self._reader.recall(request, seconds=arguments.deadline_of(options)))

    def get(self, memory: MemoryRef) -> StoredMemory:
        """One memory; NotFoundError if there is none or the caller may not see it."""
        return StoredMemory.of_id(self._reader.memory(self._scope, messages.id_of(memory)))

    def profile(
        self,
        *,
        token_budget: int | None = None,
        as_of: datetime | None = None,
        after: Written | Iterable[Written] | None = None,
        deadline_seconds: float | None = None,
    ) -> Profile:
        """What the user's own statements say about them, in 1 to 100,000 tokens, by default 400."""
        request = recall_pb2.GetProfileRequest(
            scope=self._scope,
            as_of=arguments.moment("as_of", as_of),
            time_zone=self._time_zone,
            min_seq=messages.sequence_of(after),
        )
        if token_budget is not None:
            request.token_budget = checks.bounded("token_budget", token_budget, limits.TOKEN_BUDGET)
        seconds = arguments.deadline_of({"deadline_seconds": deadline_seconds})
        return Profile.of(self._reader.profile(request, seconds=seconds))

    def session(self, name: str = "", **options: Unpack[ScopeOptions]) -> Session:
        """A conversation or run as a context manager, under a token or a new name.

        `options` hold for all that is written in it.
        """
        return Session(name, options, write=self._write, recall=self.recall)

    def wait(self, written: Written) -> None:
        """Return when an event is processed and can be recalled.

        Raises:
            InvalidInputError: it was refused; names the field.
            TemporaryError: it takes longer than `wait_seconds`.
        """
        self._settle(arguments.written("written", written), after=None)

    def close(self) -> None:
        """End the connections; a call that is under way fails. Closing again does nothing."""
        try:
            self._writer.close()
        finally:
            self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, query: str, options: RecallOptions) -> recall_pb2.RecallRequest:
        zone = self._time_zone
        return messages.recall_request(self._scope, query, options, project=self._project, time_zone=zone)

    def _write(self, kind: str, fields: dict[str, Any]) -> Written:
        # a memory that is changed keeps its own project: even an empty one would replace it
        project = {} if kind in _ABOUT_MEMORIES else {"project": self._project}
        event = messages.event_of(
            kind,
            {
                "tenant_id": self._scope.tenant_id,
                "user": self._scope.user_id,
                **project,
                "occurred_at": local_now() if self._zone is None else datetime.now(self._zone),
                **fields,
            },
        )
        waits, seconds = arguments.switch("wait", fields.get("wait", False)), self._deadline_seconds
        letter = self._writer.newest_letter(seconds=seconds) if waits else 0
        ack = self._writer.write(event, seconds=seconds)
        made = "" if kind in NO_MEMORY_KINDS else first_memory_of(event.tenant_id, event.event_id, 0)
        written = Written(event.event_id, made, ack.sequence, ack.duplicate)
        if waits:
            self._settle(written, after=None if ack.duplicate else letter)
        return written

    def _settle(self, written: Written, *, after: int | None) -> None:
        tenant, seconds = self._scope.tenant_id, self._deadline_seconds
        self._reader.wait_until_applied(written.sequence, wait_seconds=self._wait_seconds, tenant_id=tenant)
        letter = self._writer.refusal(written.sequence, tenant_id=tenant, after=after, seconds=seconds)
        if letter is not None:
            raise InvalidInputError(*letter.broken_rule)
