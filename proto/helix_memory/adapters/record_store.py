"""Keeps, finds and lists the items of a framework; every read sees all that was written through it before."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_memory.adapters import records
from helix_memory.adapters.reading import Found, grouped
from helix_memory.errors import InvalidInputError, OverdueError

if TYPE_CHECKING:
    from helix_memory.adapters.records import Record
    from helix_memory.client import Helix, Memory, RecalledMemory, Written

Admits = Callable[[Found], bool]
_NO_CONTEXT: Final = 1
"""Tokens of the packed context, which nobody reads."""


class RecordStore:
    """The records of one kind that a client may read and write, from many threads."""

    def __init__(self, helix: Helix, kind: str, *, is_item: Admits) -> None:
        """Use a client; `is_item` tells whether a whole record holds what an item of the framework needs."""
        self._helix = helix
        self.kind = kind
        self._is_item = is_item
        self._written: Written | None = None
        self._lock = threading.Lock()
        self._spaces: dict[str, Any] = {}

    def put(self, record: Record) -> None:
        """Keep a record in place of its version before."""
        made = self._helix.document(
            record.document_id,
            record.body,
            source_uri=record.uri,
            session=record.session,
            project=record.document_id,
        )
        self._note(made)

    def erase(self, space: Any, names: Iterable[str]) -> None:
        """Erase records, with all their versions; names that there are none of are skipped."""
        for name in names:
            self._note(self._helix.erase(of_document=records.document_of(self.kind, space, name)))

    def erase_all(self, space: Any) -> None:
        """Erase a whole space."""
        self._note(self._helix.erase(of_session=records.session_of(self.kind, space)))

    def get(self, space: Any, names: Iterable[str]) -> list[Found]:
        """The records of these names, those that exist."""
        session = records.session_of(self.kind, space)
        ids = dict.fromkeys(records.document_of(self.kind, space, name) for name in names)
        found = {one.document_id: one for one in self._listed([session], list(ids))}
        return [found[one] for one in ids if one in found]

    def listed(self, spaces: Iterable[Any]) -> list[Found]:
        """All records of spaces, the oldest first."""
        return self._listed([records.session_of(self.kind, space) for space in spaces])

    def spaces(self) -> list[Any]:
        """The spaces that hold a record."""
        found, token = [], ""
        while True:
            page = self._helix.sessions(
                page_size=limits.PAGE_SIZE, page_token=token, after=self._written or ()
            )
            self._check(stale=page.stale)
            for one in page.sessions:
                if one.session_id.startswith(f"{self.kind}-"):
                    found += self._space_of(one.session_id)
            token = page.next_page_token
            if not token:
                return found

    def search(
        self, query: str, spaces: Sequence[Any], *, limit: int, admits: Admits | None = None
    ) -> list[Found]:
        """The `limit` best records, or all if there are fewer; those that no search finds come last.

        With `admits` only the records that it admits: the spaces are read first, so none is missed.
        """
        sessions = [records.session_of(self.kind, space) for space in spaces]
        if limit < 1 or not sessions:
            return []
        admitted = (
            None if admits is None else {one.document_id: one for one in self.listed(spaces) if admits(one)}
        )
        if admitted is not None and not admitted:
            return []
        hits = list(itertools.islice(self._hits(query, sessions, admitted, limit), limit))
        if len(hits) < limit:
            hits = _filled(hits, self.listed(spaces) if admitted is None else admitted.values())[:limit]
        return self._completed(hits)

    def _hits(
        self, query: str, sessions: Sequence[str], admitted: dict[str, Found] | None, limit: int
    ) -> Iterator[Found]:
        """Records by rank, of several recalls where one gives too few different ones."""
        options: Any = {"never_skip": True, "token_budget": _NO_CONTEXT}
        if len(sessions) <= limits.FILTER_VALUES:
            options["sessions"] = sessions
        if admitted is not None and len(admitted) <= limits.FILTER_VALUES:
            options["projects"] = list(admitted)
        wanted, known = set(sessions), set[str]()
        served: list[RecalledMemory] = []
        while len(served) < limits.ALREADY_SERVED:
            options["top_k"] = min(limits.TOP_K, limits.ALREADY_SERVED - len(served), 2 * limit)
            reply = self._helix.recall(query, already_served=served, after=self._written or (), **options)
            self._check(stale=reply.stale)
            for found in grouped(self.kind, reply.memories, user=self._helix.user):
                is_wanted = found.pieces[0].session_id in wanted and found.note.get("searched", True)
                is_wanted = is_wanted and (found.body is None or self._is_item(found))
                is_admitted = admitted is None or found.document_id in admitted
                if is_wanted and is_admitted and found.document_id not in known:
                    known.add(found.document_id)
                    found.best = next(one for one in reply.memories if one.id == found.pieces[0].id)
                    yield found
            served += reply.memories
            if not reply.memories:
                return

    def _completed(self, hits: list[Found]) -> list[Found]:
        """The same, where a hit is one piece of a longer text with its other pieces."""
        parts = [one for one in hits if one.body is None]
        whole: dict[str, Found] = {}
        for some in _batches(parts):
            sessions = list({one.pieces[0].session_id for one in some})
            whole |= {
                one.document_id: one for one in self._listed(sessions, [one.document_id for one in some])
            }
        for one in parts:
            if one.document_id in whole:
                one.note, one.pieces = whole[one.document_id].note, whole[one.document_id].pieces
        # one that was erased or replaced between the two calls has no text any more
        return [one for one in hits if self._is_whole(one)]

    def _listed(self, sessions: Sequence[str], documents: Sequence[str] | None = None) -> list[Found]:
        memories: list[Memory] = []
        for some in _batches(sessions):
            for ids in [()] if documents is None else _batches(documents):
                memories += self._memories({"sessions": some, "projects": ids})
        found = grouped(self.kind, memories, user=self._helix.user)
        return [one for one in found if self._is_whole(one)]

    def _is_whole(self, found: Found) -> bool:
        """Whether all of a record is there."""
        return found.body is not None and self._is_item(found)

    def _memories(self, options: Any) -> Iterator[Memory]:
        token = ""
        while True:
            page = self._helix.list(
                order="oldest",
                page_size=limits.PAGE_SIZE,
                page_token=token,
                after=self._written or (),
                **options,
            )
            self._check(stale=page.stale)
            yield from page.memories
            token = page.next_page_token
            if not token:
                return

    def _space_of(self, session: str) -> list[Any]:
        """The space that a session holds, alone in a list; none where its last record has gone."""
        if session not in self._spaces:
            for memory in self._memories({"sessions": [session]}):
                if note := records.note_of(self.kind, memory):
                    self._spaces[session] = note["space"]
                    break
        return [self._spaces[session]] if session in self._spaces else []

    def _note(self, written: Written) -> None:
        with self._lock:
            if self._written is None or written.sequence > self._written.sequence:
                self._written = written

    def _check(self, *, stale: bool) -> None:
        if stale:
            raise OverdueError("what was written last is not in yet; try again, or give the client more time")


def whole_number(field: str, value: object, *, least: int = 0) -> int:
    """A number of items.

    Raises:
        InvalidInputError: it is none, or below `least`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(field, f"must be a whole number of at least {least}, not {value!r}")
    return value


def _filled(hits: Sequence[Found], others: Iterable[Found]) -> list[Found]:
    """The hits, then the rest. A recall returns a text once: records with the text of a hit follow it."""
    left = {one.document_id: one for one in others}
    filled = []
    for hit in hits:
        whole = left.pop(hit.document_id, hit)
        same = [one for one in left.values() if one.body == whole.body and one.note.get("searched", True)]
        filled += [hit, *(left.pop(one.document_id) for one in same)]
    return [*filled, *left.values()]


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), limits.FILTER_VALUES):
        yield values[start : start + limits.FILTER_VALUES]
