"""What the hooks know of a session: the memories it was given, and how far its transcript was read.

Two small files a session, replaced in one step, so that both survive an end of the gateway. A file that
cannot be read counts as absent: at worst something is injected, or sent with the same ids, again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_shared.sources.new_lines import ReadPosition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_gateway.callers import Caller
    from helix_gateway.hooks.hosts import HookCall

KEPT_SECONDS: Final = 90 * 86_400.0
"""A session without a hook for so long begins anew."""


@dataclass(frozen=True, slots=True)
class Served:
    """Memories that the model of a session has before it."""

    injected: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    """Made from the session's own transcript."""

    @property
    def is_full(self) -> bool:
        """More could not be told apart from what was injected before."""
        return len(self.injected) >= limits.ALREADY_SERVED

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids for a recall; of the session's own the latest."""
        room = limits.ALREADY_SERVED - len(self.injected)
        return (*self.injected, *self.said[-room:]) if room > 0 else self.injected


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript that was handed over."""

    tenant: str
    user: str
    agent: str
    session: str
    path: str
    folder: str
    """Where the session began."""
    position: ReadPosition = field(default_factory=ReadPosition)
    is_pending: bool = True
    """It was handed over, and not read to its end yet."""


class Sessions:
    """The files of all sessions; used from one event loop, `pending` and `remove_old` on a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def key(self, caller: Caller, call: HookCall) -> str:
        """Name of a session of a caller."""
        parts = json.dumps([caller.tenant, caller.user, call.agent, call.session])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]

    def served(self, key: str) -> Served:
        """What a session was given."""
        found = self._read(f"{key}.served.json")
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return Served(_ids(found["injected"]), _ids(found["said"]))
        return Served()

    def add_served(self, key: str, *, injected: Iterable[str] = (), said: Iterable[str] = ()) -> None:
        """Note memories that a session was given or made."""
        before = self.served(key)
        given = tuple(dict.fromkeys((*before.injected, *injected)))[: limits.ALREADY_SERVED]
        made = tuple(dict.fromkeys((*before.said, *said)))[-limits.ALREADY_SERVED :]
        self._write(f"{key}.served.json", {"injected": given, "said": made})

    def forget_served(self, key: str) -> None:
        """The model of a session no longer has what it was given."""
        (self._folder / f"{key}.served.json").unlink(missing_ok=True)

    def transcript(self, key: str) -> Transcript | None:
        """The transcript of a session; None: none was handed over."""
        return self._transcript(f"{key}.transcript.json")

    def keep_transcript(self, key: str, transcript: Transcript) -> None:
        """Note a transcript and how far it was read."""
        self._write(f"{key}.transcript.json", asdict(transcript))

    def pending(self, caller: Caller) -> list[tuple[str, Transcript]]:
        """Transcripts of a caller that were not read to their end, by session."""
        found = []
        for path in self._folder.glob("*.transcript.json"):
            kept = self._transcript(path.name)
            if kept and kept.is_pending and (kept.tenant, kept.user) == (caller.tenant, caller.user):
                found.append((path.name.partition(".")[0], kept))
        return found

    def remove_old(self, *, now: float | None = None) -> None:
        """Remove the files of sessions that ended long ago."""
        oldest = (time.time() if now is None else now) - KEPT_SECONDS
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _transcript(self, name: str) -> Transcript | None:
        found = self._read(name)
        try:
            position = ReadPosition(int(found["position"]["offset"]), int(found["position"]["lines"]))
            texts = {one: str(found[one]) for one in ("tenant", "user", "agent", "session", "path", "folder")}
            return Transcript(**texts, position=position, is_pending=found["is_pending"] is True)
        except (KeyError, TypeError, ValueError):
            return None

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self._folder / name).read_bytes())
        except (OSError, ValueError):
            return {}

    def _write(self, name: str, content: object) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._folder / f"{name}.new"
        draft.write_text(json.dumps(content))
        draft.replace(self._folder / name)


def _ids(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise ValueError("ids must be texts")
    return tuple(values)
