"""Google ADK: `HelixMemoryService`, the long-term memory of a runner."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from helix_memory.adapters import missing_extra
from helix_memory.adapters.shown import shown_fields
from helix_memory.adapters.turns import digest, each_written, session_token
from helix_memory.client import AsyncHelix, RecalledMemory, Written
from helix_memory.errors import InvalidInputError

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part
except ModuleNotFoundError as error:
    raise missing_extra("google-adk", error) from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from helix_memory.client.options import RecallOptions

SETTINGS: Final = ("type", "title", "salience", "confidence", "pinned", "priority", "tags")
"""Keys of the metadata of an entry that Helix keeps."""
USER: Final = "user"


class HelixMemoryService(BaseMemoryService):
    """Sessions of an agent as memories of its users.

        Runner(agent=agent, memory_service=HelixMemoryService(helix), ...)

    A user of ADK is a user of the client's tenant, an app is a project, and a search stays in both. The
    events of a session are turns under ids of their own, so a session that is added again adds what is new.
    A search returns nothing where Helix abstains. A deletion erases the whole event for good, and adding
    its session again does not bring it back. Parts without text (calls, files) and thoughts are left out.
    """

    def __init__(self, helix: AsyncHelix, **options: Unpack[RecallOptions]) -> None:
        """Use a client; `options` are those of its `recall`."""
        self._helix = helix
        self._options = options
        self._written: dict[tuple[str, str], Written] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        """Keep the events of a session that say something, each once."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep events that say something; of `custom_metadata` there may be "tags".

        Raises:
            InvalidInputError: the metadata has another key, or an event breaks a limit; the others are kept.
        """
        more = _known("custom_metadata", custom_metadata or {}, ("tags",))
        helix = self._of(app_name, user_id)

        def written(event: Event, text: str) -> Awaitable[Written]:
            is_user = event.author == USER
            return helix.message(
                text,
                role="user" if is_user else "assistant",
                speaker="" if is_user else event.author,
                session=session_token(session_id or ""),
                event_id=f"adk-{digest(app_name, user_id, session_id or '', event.id)}",
                occurred_at=datetime.fromtimestamp(event.timestamp, UTC),
                **more,
            )

        said = ((event, text) for event in events if (text := _text_of(event.content)))
        await each_written(
            (written(event, text) for event, text in said), partial(self._note, app_name, user_id)
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep texts as memories of their own; metadata may have the keys of `SETTINGS`.

        An entry with an id is kept once.

        Raises:
            InvalidInputError: the metadata has another key, or an entry holds no text or breaks a limit.
        """
        helix = self._of(app_name, user_id)
        common = _known("custom_metadata", custom_metadata or {}, SETTINGS)
        made = []
        for n, entry in enumerate(memories):
            more: dict[str, Any] = {
                **common, **_known(f"memories.{n}.custom_metadata", entry.custom_metadata, SETTINGS)
            }  # fmt: skip
            if not (text := _text_of(entry.content)):
                raise InvalidInputError(f"memories.{n}.content", "holds no text")
            if entry.id:
                more["event_id"] = f"adk-{digest(app_name, user_id, entry.id)}"
            if entry.timestamp:
                more["occurred_at"] = _moment(f"memories.{n}.timestamp", entry.timestamp)
            made.append((text, more))
        for text, more in made:
            self._note(app_name, user_id, await helix.remember(text, **more))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories of a user in an app that answer a query, best first; none where Helix abstains."""
        if not query.strip():
            return SearchMemoryResponse()
        options: Any = {
            **self._options,
            "projects": [app_name],
            "after": self._written.get((app_name, user_id), ()),
        }
        found = await self._of(app_name, user_id).recall(query, **options)
        return SearchMemoryResponse(memories=[] if found.abstained else list(map(_entry, found.memories)))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erase a memory by the id that a search returned, with its event; without an id nothing happens."""
        if memory_id:
            self._note(app_name, user_id, await self._of(app_name, user_id).erase(memory_id))

    def _of(self, app_name: str, user_id: str) -> AsyncHelix:
        if not app_name or not user_id:
            raise InvalidInputError("user_id" if app_name else "app_name", "must be given")
        mine = self._helix.helix
        return self._helix.acting_as(
            tenant=mine.tenant, principals=mine.principals, user=user_id, project=app_name
        )

    def _note(self, app_name: str, user_id: str, written: Written) -> None:
        held = self._written.get((app_name, user_id))
        if held is None or written.sequence > held.sequence:
            self._written[app_name, user_id] = written


def _text_of(content: Content | None) -> str:
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _entry(memory: RecalledMemory) -> MemoryEntry:
    is_user = memory.role in ("", USER)
    moment = memory.occurred_at or memory.created_at
    return MemoryEntry(
        id=memory.id,
        content=Content(parts=[Part(text=memory.text)], role=USER if is_user else "model"),
        author=memory.speaker or (USER if is_user else memory.role),
        timestamp=moment.isoformat() if moment else None,
        custom_metadata=shown_fields(memory),
    )


def _known(field: str, metadata: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    for name in metadata:
        if name not in names:
            raise InvalidInputError(f"{field}.{name}", f"is unknown; known: {', '.join(names)}")
    return dict(metadata)


def _moment(field: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(field, f"must be ISO 8601, not {text!r}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
