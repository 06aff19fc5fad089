"""Reads the new lines of transcripts and writes them as events, after the hook was answered.

Only regular files below the folders of the settings are read. A transcript is noted as handed over
before its hook is answered, and its position moves on when its events are acknowledged: what an end of
the gateway or an outage of NATS cuts off is read again with the next hook of the session, or the next
SessionStart of the caller.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.hooks.metrics import HANDED_OVER
from helix_gateway.hooks.sessions import Transcript
from helix_memory.transport.credentials import UnusableFileError
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.sources.agents import Agent
from helix_shared.sources.claude_code import ClaudeCodeReader
from helix_shared.sources.codex import CodexReader
from helix_shared.sources.cursor import CursorReader
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.new_lines import NewLines, TranscriptReader, read_new
from helix_shared.sources.projects import project_of
from helix_shared.sources.source_event import SourceEvent
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from helix_gateway.callers import Caller
    from helix_gateway.hooks.hosts import HookCall
    from helix_gateway.hooks.sessions import Sessions
    from helix_memory.client import AsyncHelix, Written
    from helix_memory.events import Event

TRANSCRIPTS_IN_WORK: Final = 2
"""Transcripts read at once; recalls need the other threads of the client."""
TRANSCRIPT_ENDING: Final = ".jsonl"
_NAMES: Final = {"session_id": "session", "project_id": "project"}
_LEFT_OUT: Final = {"kind", "tenant_id", "user_id"}
"""Fields of an event that the client sets."""

_log = logger(__name__)


class HandingOver:
    """Reads transcripts in the background; used from one event loop."""

    def __init__(self, sessions: Sessions, folders: Sequence[Path]) -> None:
        self._sessions = sessions
        self._folders = folders
        self._room = asyncio.Semaphore(TRANSCRIPTS_IN_WORK)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._tidying: set[asyncio.Task[None]] = set()

    def accept(self, caller: Caller, call: HookCall) -> None:
        """Note the transcript of a session and begin to read it; return at once.

        Raises:
            InvalidInputError: it is no file that may be read.
        """
        path = self._allowed(call.transcript)
        key = self._sessions.key(caller, call)
        kept = self._sessions.transcript(key)
        if kept is None or kept.path != str(path):
            kept = Transcript(caller.tenant, caller.user, call.agent, call.session, str(path), call.folder)
        self._sessions.keep_transcript(key, replace(kept, is_pending=True))
        self._begin(key, caller)

    def remove_old(self) -> None:
        """Begin to remove the files of old sessions; return at once."""
        self._tidy(asyncio.to_thread(self._sessions.remove_old))

    def resume(self, caller: Caller) -> None:
        """Begin to read what was handed over by a caller and is not read yet; return at once."""
        self._tidy(self._begin_pending(caller))

    async def finished(self) -> None:
        """Return when nothing is being read."""
        while tasks := {*self._tidying, *self._running.values()}:
            await asyncio.wait(tasks)

    def _allowed(self, transcript: str) -> Path:
        if not transcript:
            raise InvalidInputError("transcript_path", "is missing")
        try:
            path = Path(transcript).resolve(strict=True)
            inside = any(path.is_relative_to(folder.resolve()) for folder in self._folders)
        except (OSError, ValueError) as error:
            raise InvalidInputError("transcript_path", "is no file that can be read") from error
        if not (inside and path.is_file() and path.suffix == TRANSCRIPT_ENDING):
            reason = f"must be a {TRANSCRIPT_ENDING} file in a folder of HELIX_GATEWAY_HOOK_TRANSCRIPTS"
            raise InvalidInputError("transcript_path", reason)
        return path

    def _tidy(self, work: Coroutine[Any, Any, None]) -> None:
        """Go through the files of all sessions, of which there may be thousands, beside the event loop."""
        task = asyncio.create_task(work)
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)

    async def _begin_pending(self, caller: Caller) -> None:
        for key, _ in await asyncio.to_thread(self._sessions.pending, caller):
            self._begin(key, caller)

    def _begin(self, key: str, caller: Caller) -> None:
        if key in self._running:
            self._again.add(key)
            return
        task = asyncio.create_task(self._hand_over(key, caller))
        self._running[key] = task
        task.add_done_callback(lambda _: self._ended(key, caller))

    def _ended(self, key: str, caller: Caller) -> None:
        del self._running[key]
        if key in self._again:
            self._again.discard(key)
            self._begin(key, caller)

    async def _hand_over(self, key: str, caller: Caller) -> None:
        try:
            async with self._room:
                while await self._batch(key, caller.helix):
                    pass
        except (HelixError, OSError) as error:
            _log.warning("transcript_not_read", session=key, error=type(error).__name__)
        except Exception:  # noqa: BLE001  nobody waits for this task
            _log.exception("transcript_not_read", session=key)

    async def _batch(self, key: str, helix: AsyncHelix) -> bool:
        """Read and write one batch; whether there may be more."""
        kept = self._sessions.transcript(key)
        if kept is None:
            return False
        new = await asyncio.to_thread(_read, kept)
        made = [written.memory_id for item in new.items if (written := await _write(helix, item))]
        self._sessions.add_served(key, said=filter(None, made))
        now = self._sessions.transcript(key)
        if now is None or now.path == kept.path:  # else another file was handed over meanwhile
            self._sessions.keep_transcript(key, replace(kept, position=new.position, is_pending=new.is_full))
        return new.is_full


def _read(kept: Transcript) -> NewLines:
    project = project_of(kept.folder) if kept.folder else ""
    scope = SourceScope(kept.tenant, user_id=kept.user, project_id=project)
    return read_new(Path(kept.path), _reader(kept, scope), kept.position)


def _reader(kept: Transcript, scope: SourceScope) -> TranscriptReader:
    match Agent(kept.agent):
        case Agent.CLAUDE_CODE:
            return ClaudeCodeReader(scope, kept.session)
        case Agent.CODEX:
            return CodexReader(scope, kept.session)
        case Agent.CURSOR:
            return CursorReader(scope, kept.session)


async def _write(helix: AsyncHelix, item: Item) -> Written | None:
    """Write the event of an item; None for an item without one, or one that is refused for good."""
    if not isinstance(item, SourceEvent):
        HANDED_OVER.labels("left_out" if isinstance(item, SkippedPart) else "refused").inc()
        return None
    try:
        written = await _write_event(helix, item.event)
    except UnusableFileError:
        raise  # nothing is wrong with the line: it is read again
    except InvalidInputError as error:
        HANDED_OVER.labels("refused").inc()
        _log.warning("transcript_line_refused", field=error.field)
        return None
    HANDED_OVER.labels("written").inc()
    return written


async def _write_event(helix: AsyncHelix, event: Event) -> Written:
    fields: dict[str, Any] = {
        _NAMES.get(name, name): value
        for name, value in event.model_dump(exclude_defaults=True).items()
        if name not in _LEFT_OUT
    }
    return await (helix.tool(**fields) if event.kind == "tool" else helix.message(**fields))
