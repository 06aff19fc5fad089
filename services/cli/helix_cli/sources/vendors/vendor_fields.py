"""What the readers of exports share: ids, times, tags, versions of a memory, and memories that are hidden.

The first version of a memory has an event id that follows from the vendor's id alone. So an export that is
imported again changes nothing, and a version that was made since then corrects the memory that is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from helix_cli.sources.documents.document import whole_or_cut
from helix_cli.sources.documents.tails import document_name
from helix_memory import identity, limits
from helix_memory.events.private_passages import ALL_PRIVATE, without_private
from helix_shared.errors import InvalidInputError
from helix_shared.sources.fitting import pieces
from helix_shared.sources.items import Item, SkippedPart, SourceScope, session_token, short_name
from helix_shared.sources.source_event import Refusal, from_fields

ONE_PIECE_BYTES: Final = 400
"""A text up to here becomes one memory; of a longer one only the last version is taken."""
PIECE_BYTES: Final = 32
"""A memory of a longer text has more."""

_ID: Final = re.compile(limits.EVENT_ID_PATTERN)
_TIME_WORDS: Final = "must be a time like 2026-11-01T09:30:00Z"


@dataclass(frozen=True, slots=True)
class Version:
    """A text that a memory had from a time on; `fields` are other fields of its event."""

    text: str
    at: datetime | None
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """The events of one vendor for one import."""

    vendor: str
    scope: SourceScope

    def event_id(self, *parts: object) -> str:
        """The id of an event: the vendor's ids, or their hash where they are no event id."""
        whole = ":".join((self.vendor, *map(str, parts)))
        return whole if _ID.match(whole) else f"{self.vendor}:{identity.digest(*map(str, parts))}"

    def scope_fields(
        self, *, user: object = "", project: object = "", session: object = ""
    ) -> dict[str, Any]:
        """Tenant, user, project and session; what the command names replaces what the record states."""
        return {
            "tenant_id": self.scope.tenant_id,
            "user_id": self.scope.user_id or _name(user),
            "project_id": self.scope.project_id or _name(project),
            "session_id": session_token(_name(session)) if session else "",
        }

    def memory(self, where: str, event_id: str, text: str, fields: Mapping[str, Any]) -> Iterator[Item]:
        """The memory of a text, or several of a text that is longer than an event may be.

        `fields` may name another kind of event that has a text.
        """
        kept = without_private(text)  # before it is cut: a piece does not tell that it is private
        if kept != text:
            kept = kept.strip()
            if not kept:
                yield Refusal(where, "text", ALL_PRIVATE)
                return
        for number, piece in enumerate(pieces(kept)):
            if piece.strip():
                suffix = f":{number}" if number else ""
                yield from_fields(
                    where, {"kind": "memory", **fields, "event_id": event_id + suffix, "text": piece}
                )

    def versions(
        self, where: str, vendor_id: str, versions: Sequence[Version], fields: Mapping[str, Any]
    ) -> Iterator[Item]:
        """The first version as a memory, the later ones as corrections of it.

        A correction's id has the number of the version and a hash of what it says and when, so none counts
        twice.
        """
        first, *later = versions
        if later and any(len(one.text.encode("utf-8", "replace")) > ONE_PIECE_BYTES for one in versions):
            last = later[-1]
            event_id = self.event_id(vendor_id, said_digest(last.text))
            whole = {**fields, **first.fields, **last.fields}  # a correction keeps what it does not state
            yield from self.memory(where, event_id, last.text, {**whole, "occurred_at": last.at})
            return
        first_id = self.event_id(vendor_id)
        yield from self.memory(
            where, first_id, first.text, {**fields, **first.fields, "occurred_at": first.at}
        )
        for number, version in enumerate(later, start=2):
            if version.text.strip():
                told = (f"{name}={value}" for name, value in sorted(version.fields.items()))
                said = said_digest(version.text, str(version.at), *told)
                yield from_fields(
                    where,
                    {
                        "kind": "correct",
                        "event_id": self.event_id(vendor_id, number, said),
                        "tenant_id": fields["tenant_id"],
                        "user_id": fields["user_id"],
                        "memory_id": identity.memory_id(fields["tenant_id"], first_id, 0),
                        "text": version.text,
                        "occurred_at": version.at or first.at,
                        **version.fields,
                    },
                )

    def hidden(
        self, where: str, vendor_id: str, made: Sequence[Item], at: datetime | None, fields: Mapping[str, Any]
    ) -> Iterator[Item]:
        """Forgets of the memories of `made`, which `helix memory restore` takes back."""
        for number, ids in enumerate(_selections(made)):
            yield from_fields(
                where,
                {
                    "kind": "forget",
                    "event_id": self.event_id(vendor_id, "hidden", *([number] if number else [])),
                    "tenant_id": fields["tenant_id"],
                    "user_id": fields["user_id"],
                    "memory_ids": ids,
                    "occurred_at": at,
                },
            )

    def document(self, where: str, document_id: str, text: str, fields: Mapping[str, Any]) -> Iterator[Item]:
        """The document of a text, or several of a text that is larger than an event may be."""
        if not text.strip():
            yield SkippedPart("documents without text")
            return
        for number, body in enumerate(whole_or_cut(text), start=1):
            name = document_name(document_id, number)
            said = identity.digest(name, text)
            yield from_fields(
                where,
                {
                    "kind": "document",
                    **fields,
                    **body,
                    "document_id": name,
                    "event_id": self.event_id("document", said),
                },
            )


def said_digest(*parts: str) -> str:
    """Hash of texts without their private passages: a short one could be found by trying ids."""
    return identity.digest(*map(without_private, parts))


def text_in(record: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is there; empty if none is.

    Raises:
        InvalidInputError: it is no text.
    """
    for name in names:
        found = record.get(name)
        if found is None:
            continue
        if not isinstance(found, str):
            raise InvalidInputError(name, "must be a text")
        return found
    return ""


def list_in(record: Mapping[str, Any], name: str) -> list[Any]:
    """A field that is a list; no elements if it is none."""
    found = record.get(name)
    return found if isinstance(found, list) else []


def time_in(record: Mapping[str, Any], *names: str) -> datetime | None:
    """The first of these fields that is there as a time; UTC where it has no zone; None if none is there.

    Raises:
        InvalidInputError: it is no ISO 8601 time and no number of seconds since 1970.
    """
    for name in names:
        found = record.get(name)
        if found is not None and found != "":
            return _time(name, found)
    return None


def later_by(moment: datetime, by: timedelta) -> datetime:
    """A time moved on; one that has none after it stays, and an event refuses its year."""
    try:
        return moment + by
    except OverflowError:
        return moment


def tags_of(*groups: object) -> list[str]:
    """At most `limits.TAGS` labels, texts or lists of them; no private passages, no control characters."""
    found: dict[str, None] = {}
    for group in groups:
        for one in group if isinstance(group, list | tuple) else [group]:
            words = " ".join(without_private(str(one)).split()) if isinstance(one, str | int) else ""
            if name := "".join(filter(str.isprintable, words)):
                found[short_name(name)] = None
    return list(found)[: limits.TAGS]


def identity_in(record: Mapping[str, Any], *names: str) -> str:
    """The vendor's id of a record.

    Raises:
        InvalidInputError: it has none.
    """
    for name in names:
        found = record.get(name)
        if isinstance(found, str | int) and str(found).strip():
            return str(found)
    raise InvalidInputError(names[0], "is missing")


def with_context(text: str, context: str) -> str:
    """A text with what its vendor keeps beside it, in parentheses."""
    context = " ".join(context.split())
    return f"{text} ({context})" if context and context not in text else text


def record_of(found: object) -> dict[str, Any]:
    """A record as an object.

    Raises:
        InvalidInputError: it is none.
    """
    if not isinstance(found, dict):
        raise InvalidInputError("record", "must be a JSON object")
    return found


def _name(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _time(name: str, value: object) -> datetime:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(name, f"{value!r} {_TIME_WORDS}") from error
    if parsed is None:
        raise InvalidInputError(name, _TIME_WORDS)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _selections(made: Sequence[Item]) -> Iterator[list[str]]:
    """Ids of the memories of events, as many as one event may name; each has the first of an event at least.

    An event that names no memory would be refused.
    """
    chosen: list[str] = []
    for item in made:
        ids = list(_memory_ids(item))[: limits.SELECTED_IDS]
        if len(chosen) + len(ids) > limits.SELECTED_IDS:
            yield chosen
            chosen = []
        chosen += ids
    if chosen:
        yield chosen


def _memory_ids(item: Item) -> Iterable[str]:
    """Ids of the memories that an event may become."""
    event = getattr(item, "event", None)
    if event is None:
        return
    size_bytes = len(event.text.encode())
    # a piece with a heading may be shorter
    several = 1 + size_bytes // PIECE_BYTES + len(event.text.splitlines())
    for piece in range(1 if size_bytes <= ONE_PIECE_BYTES else several):
        yield identity.memory_id(event.tenant_id, event.event_id, piece)
