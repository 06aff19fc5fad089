"""Fifty tenants with hostile names, eight users each: what every memory holds, and who may see it.

Every memory has a mark of its own in its text, entity, session and title. A reply that has anything of a
memory which its caller may not see has that mark, or the id of the memory.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_query.settings import QuerySettings
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.rpc.access.static_tokens import token_digest
from tests.integration.test_query.corpus import Corpus
from tests.integration.test_query.service import InProcess
from tests.unit.shared.access.keys import write_secret

TENANTS = (
    "acme", "ACME", "Acme", "acme_", "acme-", "acm", "acmee", "-", "_", "--", "null", "None", "admin", "root",
    "0", "00", "1", "helix", "v1", "events", "derived", "INBOX", "_INBOX", "select", "DROP", "true", "NaN",
    "a" * 64, "a" * 63, "A" * 64, *(f"{letter}{number}" for letter in "tT" for number in range(10)),
)  # fmt: skip
USERS = (
    "ana", "ANA", "\u0430na", "an\u00e1", "ana\u0301", "' OR 'a'='a", "*", "\u202eana",
)  # fmt: skip
"""Twins by case, alphabet and normal form; a quote, a wildcard, a mark of writing direction."""
BOARD = "board"
TOPICS = ("database", "garden", "voyage", "birthday", "invoice", "server")
MARK = re.compile(r"zq[0-9a-f]{12}")
MEMORY_ID = re.compile(r"\b[0-9a-f]{32}\b")


@dataclass(frozen=True)
class Caller:
    """One user of one tenant, with or without the group of the board."""

    tenant: str
    user: str
    is_board: bool

    @property
    def scope(self) -> dict[str, Any]:
        """The scope of its requests."""
        return {
            "tenant_id": self.tenant,
            "user_id": self.user,
            "principals": [BOARD] if self.is_board else [],
        }

    @property
    def token(self) -> str:
        """Its token."""
        return "t-" + hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass
class World:
    """The memories: mark and id of each by who may see it."""

    tenants: Sequence[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    seen_by: dict[Caller, frozenset[str]] = field(default_factory=dict)
    """Marks and ids that a caller may see."""

    @property
    def callers(self) -> list[Caller]:
        """Every user of every tenant, on the board and not."""
        return [
            Caller(t, u, is_board) for t in self.tenants for u in ("", *USERS) for is_board in (False, True)
        ]


def make_world(tenants: Sequence[str]) -> World:
    """Each user has a private memory; each tenant a public one and one of the board."""
    world = World(tenants)
    for tenant in tenants:
        owned = [({"user_id": user, "owner": user}, "private") for user in USERS]
        shared = [
            ({}, "public"),
            ({"audience": [BOARD], "acl": [BOARD]}, "board"),
        ]
        for number, (fields, kind) in enumerate([*owned, *shared]):
            mark = "zq" + hashlib.sha256(f"{tenant}/{number}/{kind}".encode()).hexdigest()[:12]
            topic = TOPICS[number % len(TOPICS)]
            text = f"I keep the note about the {topic} in drawer {mark}, as Maria Nowak told me."
            row = {
                "text": text,
                "name": mark,
                "tenant_id": tenant,
                "entities": ["Maria Nowak", f"Drawer {mark}"],
                "session_id": "s1" if number % 2 else f"s-{mark}",
                "title": f"Note {mark}",
                "type": "semantic",
            } | fields
            world.rows.append(row)
            world.marks.append(mark)
    return world


def visible(world: World) -> None:
    """Fill in what every caller may see, from the rows alone."""
    for caller in world.callers:
        seen: set[str] = set()
        for row, mark, memory_id in zip(world.rows, world.marks, world.ids, strict=True):
            is_own = row["tenant_id"] == caller.tenant
            is_admitted = row.get("user_id", "") in ("", caller.user)
            if is_own and is_admitted and ("acl" not in row or caller.is_board):
                seen |= {mark, memory_id}
        world.seen_by[caller] = frozenset(seen)


def tokens_file(path: Path, world: World) -> Path:
    """A token for every caller."""
    entries = [
        {
            "id": f"c{number}",
            "sha256": token_digest(caller.token),
            "tenant": caller.tenant,
            # "*" would be any user; the user of that name gets none of it
            "user": caller.user,
            "principals": [BOARD] if caller.is_board else [],
            "roles": ["recall"],
        }
        for number, caller in enumerate(world.callers)
        if caller.user != "*"
    ]
    return write_secret(path, json.dumps({"tokens": entries}))


@contextmanager
def served(
    folder: Path, models: Path, *, tenants: Sequence[str] = TENANTS
) -> Iterator[tuple[World, InProcess, InProcess]]:
    """The world, and two services on it: without and with authentication."""
    world = make_world(tenants)
    with Encoder.load(default_model(models)) as encoder:
        corpus = Corpus.create(folder / "data", encoder)
        world.ids = corpus.add([dict(row) for row in world.rows])
        corpus.publish()
        corpus.live.close()
    visible(world)
    common = {"data_dir": folder / "data", "models_dir": models, "listen": "127.0.0.1:0", "grace_seconds": 0}
    common |= {"deadline_seconds": 30, "channel_deadline_seconds": 20}
    own = {"auth": "tokens", "tokens_file": tokens_file(folder / "tokens.json", world)}
    started = []
    try:
        for name, more in {"open": {}, "secured": own}.items():
            (folder / name).mkdir()
            settings = QuerySettings(**common, **more)
            started.append(InProcess(folder / "data", models, folder / name, settings))
        yield world, started[0], started[1]
    finally:
        for service in started:
            service.close()


def found_in(text: str) -> set[str]:
    """Marks and ids in a text."""
    return set(MARK.findall(text)) | set(MEMORY_ID.findall(text))


def chosen(world: World, numbers: random.Random) -> int:
    """The position of any memory, of any tenant."""
    return numbers.randrange(len(world.ids))
