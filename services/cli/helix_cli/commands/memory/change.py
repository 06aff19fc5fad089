"""Publishing the events of a command that changes memories, and saying what became of each memory.

The event log has no replies, so a change is told by what the query service serves before and after the event,
and a refusal by its dead letter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from helix_cli.clients.sending import Tally
from helix_cli.commands.common import options
from helix_cli.commands.common.hints import with_owner_hint
from helix_cli.commands.common.memory_ids import whole_ids
from helix_cli.commands.common.option_group import with_options
from helix_cli.commands.common.publishing import Waiting, await_outcome, outcome, publish_items, summary
from helix_cli.commands.common.query_options import scope_of
from helix_cli.commands.memory.arguments import Acl, User
from helix_cli.commands.memory.state import Change, Seen, corrected, nothing_to_correct, seen, short
from helix_cli.home.addresses import Server, nats_server, query_server
from helix_cli.home.query_client import query_client
from helix_cli.output.exit_codes import FAILED_EXIT, UNCHANGED_EXIT
from helix_cli.output.terminal import note
from helix_cli.sources.event_options import one_event
from helix_memory.machine_zone import local_now
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError, OtherInstanceError, TemporaryError
from helix_shared.identity import memory_id as memory_id_of
from helix_shared.sources.source_event import SourceEvent

AwaitChange = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Whether to wait for the change, and say what it changed."),
]
APPLIED: Final = "applied; what it changed is not known, because the query service did not answer before it"
Told = Callable[[Seen, Seen], Change]
"""What became of a memory, from what was served before and after its event."""


@dataclass(slots=True)
class Result:
    """Which memories changed, each with its current id, and which stay as they were, with the reason."""

    changed: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)

    def keep(self, memory_id: str, reason: str) -> None:
        """Note a memory that stays as it was, and say so."""
        self.unchanged[memory_id] = reason
        note(f"unchanged {short(memory_id)}: {reason}")


@dataclass(frozen=True, slots=True)
class Changes:
    """The options of a command that changes memories."""

    scope: recall_pb2.Scope
    nats: str
    query: str
    home: Path
    wait_seconds: float | None
    """How long to wait until the events are processed; None: not at all."""
    as_json: bool
    result: Result = field(default_factory=Result)

    @property
    def server(self) -> Server:
        """The query service."""
        return query_server(self.query, self.home)

    def ids(self, given: Sequence[str]) -> list[str]:
        """Whole ids, each once.

        Raises: as `whole_ids`.
        """
        return list(dict.fromkeys(whole_ids(given, self.scope, lambda: self.server)))

    def correct(self, wanted: dict[str, dict[str, Any]], *, done: str) -> None:
        """Publish the next version of each memory, with the wanted fields; `done` says so in a word.

        A correction has a text, so without one that of the current version is read. A memory that has the
        wanted fields stays as it is.

        Raises:
            NotFoundError: the text of a memory is needed and cannot be read.
            typer.Exit, HelixError: as `publish`.
        """
        events = {}
        for memory_id, fields in wanted.items():
            event = {"memory_id": memory_id, **fields}
            if "text" not in fields or self.wait_seconds is not None:
                [found] = self._seen([memory_id]).values()
                if reason := nothing_to_correct(found, fields):
                    self.result.keep(memory_id, reason)
                    continue
                event |= self._of_current(found, fields)
            events[memory_id] = event
        self.publish("correct", events, partial(corrected, done=done), _new_version)

    def _of_current(self, found: Seen, wanted: dict[str, Any]) -> dict[str, Any]:
        """Id and text of the current version, for a correction of it; without a new text also its time."""
        if (current := found.current) is not None:
            event = {"memory_id": current.memory_id, "text": wanted.get("text", current.text)}
            if "text" not in wanted and current.HasField("occurred_at"):
                event["occurred_at"] = current.occurred_at.ToDatetime(UTC).isoformat()
            return event
        if "text" not in wanted:
            error = NotFoundError(f"no memory {found.memory_id} is visible to this scope")
            raise with_owner_hint(error, self.scope)
        return {}  # perhaps it was published a moment ago

    def publish(
        self,
        kind: str,
        events: dict[str, dict[str, Any]],
        told: Told,
        affected: Callable[[SourceEvent], str] | None = None,
    ) -> None:
        """Publish one event for each memory, its own fields; wait, and say what became of each memory.

        `affected` gives the memory that is looked at afterwards, if it is another one.

        Raises:
            typer.Exit: an event was refused, or a memory stays as it was.
            TemporaryError: the events are stored, but were not seen to be processed in time.
            HelixError: as `publish_items` and `await_outcome`, or an event breaks a rule: none is published.
        """
        items = {memory_id: self._event(kind, memory_id, fields) for memory_id, fields in events.items()}
        if items:
            after = {one: one if affected is None else affected(item) for one, item in items.items()}
            self._publish(items, told, after)
        elif self.as_json:
            typer.echo(json.dumps(asdict(self.result)))
        if self.result.unchanged:
            raise typer.Exit(UNCHANGED_EXIT)

    def _event(self, kind: str, memory_id: str, fields: dict[str, Any]) -> SourceEvent:
        given = {"user_id": self.scope.user_id, "acl": list(self.scope.principals), **fields}
        tenant = self.scope.tenant_id
        return one_event(given, tenant=tenant, kind=kind, role="", now=local_now(), where=memory_id)

    def _publish(self, items: dict[str, SourceEvent], told: Told, affected: dict[str, str]) -> None:
        waiting = self.wait_seconds is not None
        before = self._seen_before(items) if waiting else None
        broker = nats_server(self.nats, self.home)
        tally = publish_items(
            items.values(),
            server=broker,
            in_flight=1,
            as_json=self.as_json,
            total=len(items),
            tracked=waiting,
        )
        try:
            if self.wait_seconds is not None:
                with _told_as_stored(tally):
                    await_outcome(tally, Waiting(self.server, broker, self.wait_seconds))
                    for refusal in tally.refusals:
                        del affected[refusal.where]
                    self._tell(before, affected, told)
            elif not self.as_json:
                typer.echo(outcome(tally))
        finally:
            if self.as_json:
                typer.echo(json.dumps(summary(tally) | asdict(self.result)))
        if tally.refusals:
            raise typer.Exit(FAILED_EXIT)

    def _seen(self, ids: Iterable[str]) -> dict[str, Seen]:
        with query_client(self.server) as client:
            return seen(client, self.scope, list(ids))

    def _seen_before(self, ids: Iterable[str]) -> dict[str, Seen] | None:
        """The memories before their events, which need no query service: None where it does not answer."""
        try:
            return self._seen(ids)
        except OtherInstanceError:
            raise
        except TemporaryError as error:
            note(f"what the memories were before the change is not known: {error}")
            return None

    def _tell(self, before: dict[str, Seen] | None, affected: dict[str, str], told: Told) -> None:
        after = {} if before is None else self._seen(affected.values())
        for one, other in affected.items():
            change = Change(APPLIED) if before is None else told(before[one], after[other])
            if not change.is_change:
                self.result.keep(one, change.text)
                continue
            self.result.changed[one] = other
            if not self.as_json:
                typer.echo(f"{short(one)}: {change.text}")


@contextmanager
def _told_as_stored(tally: Tally) -> Iterator[None]:
    """Say that the events are stored where it cannot be seen in time what became of them."""
    try:
        yield
    except TemporaryError:
        note(f"the change is stored, up to sequence {tally.last_sequence}; it was not seen to be applied yet")
        raise


def _new_version(item: SourceEvent) -> str:
    """Id of the version that a correction makes."""
    return memory_id_of(item.event.tenant_id, item.event.event_id, 0)


def changes_of(
    *,
    tenant: options.Tenant = "",
    user: User = "",
    acl: Acl = None,
    wait: AwaitChange = True,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> Changes:
    """What these options mean."""
    scope = scope_of(tenant, user, acl)
    return Changes(scope, nats, query, home, wait_seconds if wait else None, as_json)


with_change_options = with_options("changes", changes_of)
"""Replaces the parameter `changes` of a command by the options of `changes_of`."""
